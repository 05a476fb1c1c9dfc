//! Writes the outcome of one limit as JSON.

use sluicegate::{Decision, Refusal, Span};
use sluicegate_http::{LimitOutcome, RateLimitInfo};
use sluicegate_rules::{Mode, Rule};

use crate::http::json::writer::{JsonWriter, name};

/// Writes the outcome of one limit.
pub(in crate::http) fn write_limit(
    info: &RateLimitInfo<'_>,
    limit: &LimitOutcome<'_>,
    object: &mut JsonWriter<'_>,
) {
    let decision = limit.decision;
    object.text_maybe(name!("rule"), limit.rule.map(Rule::name));
    object.text(name!("limit_name"), &info.policy_name(limit));
    object.word(name!("algorithm"), limit.check.limit().algorithm());
    match limit.rule.map(Rule::mode) {
        Some(Mode::Enforce) => object.word(name!("mode"), "enforce"),
        Some(Mode::Shadow) => object.word(name!("mode"), "shadow"),
        None => {}
    }
    object.flag(name!("allowed"), decision.is_allowed());
    if limit.is_soft() {
        object.flag(name!("soft"), true);
    }
    object.word_if(name!("reason"), decision.refusal().map(Refusal::as_str));
    object.number(name!("limit"), decision.limit());
    let known = Some(decision).filter(|_| limit.is_known);
    object.number_if(name!("remaining"), known.map(Decision::remaining));
    object.number(name!("granted"), decision.granted());
    object.number_if(name!("retry_after_ms"), decision.retry_after().map(Span::as_millis_ceil));
    let reset_after = known.map(|decision| decision.reset_after().as_millis_ceil());
    object.number_if(name!("reset_after_ms"), reset_after);
    object.number(name!("delay_ms"), limit.delay().as_millis_ceil());
}
