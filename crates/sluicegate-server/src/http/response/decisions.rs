//! Writes the decisions of all limits as JSON.

use sluicegate::{Check, Decision, Operation, Span, Verdict};
use sluicegate_http::is_unasked;
use sluicegate_rules::{Mode, RequestPlan, Rule};

use crate::http::json::writer::{JsonWriter, name};

/// The decisions that were made; unneeded alternatives are left out.
#[derive(Clone, Copy)]
pub(in crate::http) struct Decisions<'a> {
    pub(super) checks: &'a [Check<'a>],
    pub(super) verdict: Option<&'a Verdict>,
    /// The plan that the checks belong to, if rules made them.
    pub(super) planned: Option<&'a RequestPlan<'a>>,
}

impl<'a> Decisions<'a> {
    pub(super) const NONE: Self = Self { checks: &[], verdict: None, planned: None };

    pub(super) fn iter(self) -> impl Iterator<Item = DecisionJson<'a>> {
        let decisions = self.verdict.map_or(&[][..], Verdict::decisions);
        let (planned, admitted) = (self.planned, self.verdict.is_some_and(Verdict::is_allowed));
        let mut before_refused = false;
        self.checks.iter().zip(decisions).enumerate().filter_map(
            move |(index, (check, decision))| {
                let decision = decision.as_ref()?;
                let rule = planned.and_then(|planned| planned.rule(index));
                // An alternative that admits although the limit before it refuses.
                let soft =
                    check.is_alternative() && before_refused && admitted && decision.is_allowed();
                before_refused = !decision.is_allowed();
                let unknown = self.verdict.is_some_and(|verdict| is_unasked(check, verdict));
                let json =
                    || DecisionJson { soft, ..DecisionJson::of(rule, check, decision, admitted) };
                is_decision(check).then(|| if unknown { json().without_state() } else { json() })
            },
        )
    }
}

/// Returns whether a check decides anything; a rescale after a change of tier does not.
fn is_decision(check: &Check<'_>) -> bool {
    !matches!(check.operation(), Operation::Rescale { .. })
}

/// The decision of one limit.
pub(in crate::http) struct DecisionJson<'a> {
    rule: Option<&'a str>,
    limit_name: &'a str,
    algorithm: &'static str,
    mode: Option<&'static str>,
    allowed: bool,
    soft: bool,
    reason: Option<&'static str>,
    limit: u64,
    remaining: Option<u64>,
    granted: u64,
    retry_after_ms: Option<u64>,
    reset_after_ms: Option<u64>,
    delay_ms: u64,
}

impl<'a> DecisionJson<'a> {
    /// Removes the fields that depend on the unknown state of the counter.
    pub(in crate::http) fn without_state(self) -> Self {
        Self { remaining: None, reset_after_ms: None, ..self }
    }

    pub(in crate::http) fn of(
        rule: Option<&'a Rule>,
        check: &Check<'a>,
        decision: &Decision,
        admitted: bool,
    ) -> Self {
        let delay = if admitted && decision.is_allowed() {
            decision.delay() + check.delay_if_admitted()
        } else {
            Span::ZERO
        };
        Self {
            rule: rule.map(Rule::name),
            limit_name: check.limit().name(),
            algorithm: check.limit().algorithm(),
            mode: rule.map(|rule| match rule.mode() {
                Mode::Enforce => "enforce",
                Mode::Shadow => "shadow",
            }),
            allowed: decision.is_allowed(),
            soft: false,
            reason: decision.refusal().map(sluicegate::Refusal::as_str),
            limit: decision.limit(),
            remaining: Some(decision.remaining()),
            granted: decision.granted(),
            retry_after_ms: decision.retry_after().map(Span::as_millis_ceil),
            reset_after_ms: Some(decision.reset_after().as_millis_ceil()),
            delay_ms: delay.as_millis_ceil(),
        }
    }

    pub(in crate::http) fn write(&self, object: &mut JsonWriter<'_>) {
        object.text_maybe(name!("rule"), self.rule);
        object.text(name!("limit_name"), self.limit_name);
        object.word(name!("algorithm"), self.algorithm);
        if let Some(mode) = self.mode {
            object.word(name!("mode"), mode);
        }
        object.flag(name!("allowed"), self.allowed);
        if self.soft {
            object.flag(name!("soft"), true);
        }
        object.word_if(name!("reason"), self.reason);
        object.number(name!("limit"), self.limit);
        object.number_if(name!("remaining"), self.remaining);
        object.number(name!("granted"), self.granted);
        object.number_if(name!("retry_after_ms"), self.retry_after_ms);
        object.number_if(name!("reset_after_ms"), self.reset_after_ms);
        object.number(name!("delay_ms"), self.delay_ms);
    }
}
