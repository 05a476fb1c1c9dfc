//! What a limit really allows, in words.

use std::fmt::Write as _;

use sluicegate::{Per, Quota, Span};

use crate::limits::{Limits, Owing, Windows};
use crate::rule::Rule;
use crate::ruleset::RuleSet;

impl RuleSet {
    /// What each rule really allows: a line for each of its limits.
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
            Limits::Same(windows) => write_windows(windows, "", out),
            Limits::ByTier(windows) => {
                for (tier, windows) in self.tiers().zip(windows) {
                    write_windows(windows, &format!("{tier}: "), out);
                }
            }
        }
        for (_, windows) in &rule.overrides {
            write_windows(windows, "for a time: ", out);
        }
        if let Some(cooldown) = &rule.cooldown {
            let after = cooldown.limit.capacity();
            let allowed = if cooldown.limit.uses_up() {
                format!("{after} attempts that are not reported")
            } else {
                "everything".to_owned()
            };
            let _ = writeln!(out, "  cooldown: {allowed}, until {after} failures");
        }
    }
}

fn write_windows(windows: &Windows, prefix: &str, out: &mut String) {
    if *windows == Windows::Unlimited {
        let _ = writeln!(out, "  {prefix}unlimited");
    }
    for owing in windows.owed() {
        let _ = writeln!(out, "  {prefix}{}", of(owing));
    }
}

/// What a limit really allows: `5/min token_bucket: up to 10 in the first minute, …`.
pub(crate) fn of(owing: &Owing) -> String {
    let limit = &owing.limit;
    let capacity = limit.capacity();
    let Some(quota) = owing.quota else {
        return format!("{capacity} in flight at any time");
    };
    let (amount, period) = (quota.amount(), period(quota));
    let mut text = format!("{quota} {}: ", limit.algorithm());
    let _ = match limit.algorithm() {
        "token_bucket" | "leaky_bucket" => write!(
            text,
            "up to {} in the first {period}, {capacity} of them at once; then {amount} in every {period}",
            capacity.saturating_add(amount)
        ),
        "queue" => write!(
            text,
            "one every {}, up to {} waiting; never faster",
            every(quota),
            capacity.saturating_sub(1)
        ),
        "fixed_window" => write!(
            text,
            "{amount} in every calendar {period}; up to {} around the edge between two",
            amount.saturating_mul(2)
        ),
        "sliding_log" => write!(text, "never more than {amount} in any {period}"),
        _ if owing.strict => write!(text, "never more than {amount} in any {period}"),
        _ => write!(
            text,
            "about {amount} in any {period}, in the worst case just under {}",
            amount.saturating_mul(2)
        ),
    };
    if let Some(beyond) = &owing.beyond {
        let _ = write!(text, "; beyond it up to {} more", beyond.limit.capacity());
        if !beyond.delay.is_zero() {
            let _ = write!(text, ", each held back {}", beyond.delay);
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

/// How long a queue lets pass between two.
fn every(quota: Quota) -> String {
    match quota.per() {
        Per::Span(span) => Span::from_micros(span.as_micros().div_ceil(quota.amount())).to_string(),
        Per::Months(_) => "month".to_owned(),
    }
}
