//! Answers in the Redis protocol.

use serde_json::{Value, json};

use super::http::Summary;
use super::{TOKEN, seconds};
use crate::model::Evaluation;
use crate::rule_file::RuleFile;

/// The answer to `SLUICEGATE.CHECK`: alternating names and values.
pub(crate) fn checked(evaluation: &Evaluation, file: &RuleFile) -> Value {
    let summary = Summary::of(evaluation, file);
    let number = |number: Option<u64>| number.map_or(json!(-1), |number| json!(number));
    json!([
        "allowed",
        u64::from(evaluation.is_allowed()),
        "rule",
        summary.rule,
        "reason",
        summary.reason,
        "limit",
        number(summary.limit),
        "remaining",
        number(summary.remaining),
        "retry_after_ms",
        number(summary.retry_after_ms),
        "reset_after_ms",
        number(summary.reset_after_ms),
        "delay_ms",
        summary.delay_ms,
        "cost",
        evaluation.cost,
        "tier",
        evaluation.tier,
        "identity",
        summary.identity,
        "slot",
        evaluation.has_slot().then_some(TOKEN),
        "by",
        "store",
    ])
}

/// The answer to `CL.THROTTLE`.
pub(crate) fn throttled(evaluation: &Evaluation) -> Value {
    let made = evaluation.verdict.as_ref().and_then(|verdict| verdict.decisions[0]);
    let Some(made) = made else { return Value::Null };
    json!([
        u64::from(!made.allowed),
        made.limit,
        made.remaining,
        made.retry_after_us.map_or(json!(-1), |wait| json!(seconds(wait))),
        seconds(made.reset_after_us),
    ])
}
