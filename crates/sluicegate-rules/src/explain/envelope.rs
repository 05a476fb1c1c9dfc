//! Descriptions of how much a limit allows.

use std::fmt::Write as _;

use sluicegate::{Algorithm, Per, Quota, Slices, Span, Spec};

use crate::rule_set::RuleSet;
use crate::rule_set::limits::{LimitSet, Limits, RuleLimit};
use crate::rule_set::rule::Rule;

impl RuleSet {
    /// Describes how much each rule allows, with a line for each of its limits.
    pub fn envelopes(&self) -> String {
        let mut out = String::new();
        for rule in &self.rules {
            let _ = writeln!(out, "{}", rule.name);
            self.write_envelopes(rule, &mut out);
        }
        out
    }

    fn write_envelopes(&self, rule: &Rule, out: &mut String) {
        match &rule.limits {
            Limits::None => {}
            Limits::Same(limits) => write_limits(limits, "", out),
            Limits::ByTier(limits) => {
                for (tier, limits) in self.tiers().zip(limits) {
                    write_limits(limits, &format!("{tier}: "), out);
                }
            }
        }
        for (_, limits) in &rule.overrides {
            write_limits(limits, "for a time: ", out);
        }
        if let Some(cooldown) = &rule.cooldown {
            let after = cooldown.limit.capacity();
            let allowed = if cooldown.limit.uses_up() {
                format!("{after} unreported attempts")
            } else {
                "everything".to_owned()
            };
            let _ = writeln!(out, "  cooldown: {allowed}, until {after} failures");
        }
    }
}

fn write_limits(limits: &LimitSet, prefix: &str, out: &mut String) {
    if *limits == LimitSet::Unlimited {
        let _ = writeln!(out, "  {prefix}unlimited");
    }
    for rule_limit in limits.rule_limits() {
        let _ = writeln!(out, "  {prefix}{}", of(rule_limit));
    }
}

/// Describes how much a limit allows: `5/min token_bucket: up to 10 in the first minute, …`.
pub(crate) fn of(rule_limit: &RuleLimit) -> String {
    let limit = &rule_limit.limit;
    let capacity = limit.capacity();
    let Spec::Quota { algorithm, quota, slices, .. } = *limit.spec() else {
        return format!("{capacity} in flight at any time");
    };
    let (amount, period) = (quota.amount(), period(quota));
    let mut text = format!("{quota} {}: ", algorithm.as_str());
    let _ = match (algorithm, slices) {
        (Algorithm::TokenBucket | Algorithm::LeakyBucket, _) => write!(
            text,
            "up to {} in the first {period}, {capacity} of them at once; then {amount} in every \
             {period}",
            capacity.saturating_add(amount)
        ),
        (Algorithm::Queue, _) => write!(
            text,
            "one every {}, up to {} waiting; never faster",
            every(quota),
            capacity.saturating_sub(1)
        ),
        (Algorithm::FixedWindow, _) => write!(
            text,
            "{amount} in every calendar {period}; up to {} around the boundary between two",
            amount.saturating_mul(2)
        ),
        (Algorithm::SlidingLog, _) | (Algorithm::SlidingWindow, Slices::Strict(_)) => {
            write!(text, "never more than {amount} in any {period}")
        }
        (Algorithm::SlidingWindow, Slices::Weighted(_)) => write!(
            text,
            "about {amount} in any {period}, in the worst case just under {}",
            amount.saturating_mul(2)
        ),
    };
    if let Some(soft) = &rule_limit.soft {
        let _ = write!(text, "; beyond it up to {} more", soft.limit.capacity());
        if !soft.delay.is_zero() {
            let _ = write!(text, ", each delayed by {}", soft.delay);
        }
    }
    text
}

/// The period in words: `minute`, `15min`.
fn period(quota: Quota) -> String {
    match quota.per() {
        Per::Months(1) => "month".to_owned(),
        Per::Months(months) => format!("{months} months"),
        Per::Span(span) => match span.to_string().as_str() {
            "1s" => "second".to_owned(),
            "1min" => "minute".to_owned(),
            "1hour" => "hour".to_owned(),
            "1day" => "day".to_owned(),
            "1week" => "week".to_owned(),
            other => other.to_owned(),
        },
    }
}

/// The interval of a queue between two requests.
fn every(quota: Quota) -> String {
    match quota.per() {
        Per::Span(span) => Span::from_micros(span.as_micros().div_ceil(quota.amount())).to_string(),
        Per::Months(_) => "month".to_owned(),
    }
}
