//! Every limit's answer, as JSON.

use sluicegate::{Ask, Check, Decision, Span, Verdict};
use sluicegate_rules::{Mode, Planned, Rule};

use crate::http::object::{Object, name};
use crate::told::is_unasked;

/// Every decision that was made; alternatives that were not needed are left out.
#[derive(Clone, Copy)]
pub(in crate::http) struct Decisions<'a> {
    pub(super) checks: &'a [Check<'a>],
    pub(super) verdict: Option<&'a Verdict>,
    /// Whose limits they are, where they are rules'.
    pub(super) planned: Option<&'a Planned<'a>>,
}

impl<'a> Decisions<'a> {
    pub(super) const NONE: Self = Self { checks: &[], verdict: None, planned: None };

    pub(super) fn each(self) -> impl Iterator<Item = Made<'a>> {
        let made = self.verdict.map_or(&[][..], Verdict::decisions);
        let (planned, admitted) = (self.planned, self.verdict.is_some_and(Verdict::is_allowed));
        let mut before_refused = false;
        self.checks.iter().zip(made).enumerate().filter_map(move |(index, (check, made))| {
            let made = made.as_ref()?;
            let rule = planned.and_then(|planned| planned.rule(index));
            // An alternative that is met although the limit before it refuses.
            let soft = check.is_alternative() && before_refused && admitted && made.is_allowed();
            before_refused = !made.is_allowed();
            let unknown = self.verdict.is_some_and(|verdict| is_unasked(check, verdict));
            let made = || Made { soft, ..Made::of(rule, check, made, admitted) };
            asks(check).then(|| if unknown { made().unknown() } else { made() })
        })
    }
}

/// Whether a check asks for anything: one that only tells of a change of tier does not.
fn asks(check: &Check<'_>) -> bool {
    !matches!(check.asks(), Ask::Rescale { .. })
}

/// One limit's answer.
pub(in crate::http) struct Made<'a> {
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

impl<'a> Made<'a> {
    /// The same without what nobody knows.
    pub(in crate::http) fn unknown(self) -> Self {
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

    pub(in crate::http) fn write(&self, object: &mut Object<'_>) {
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
