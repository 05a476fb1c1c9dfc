//! Answers over HTTP: status, headers and body.

use serde_json::{Map, Value, json};
use sluicegate_oracle::trace::{AskSpec, ExpectedDecision};

use super::headers::headers;
use super::problem::{kind, problem};
use super::{TOKEN, millis};
use crate::model::{Evaluation, Outcome, Planned};
use crate::rule_file::RuleFile;

/// The answer to `/v1/check`.
pub(crate) fn check(evaluation: &Evaluation, file: &RuleFile, reserve: bool) -> Value {
    let status = status(evaluation);
    let body = verdict(evaluation, file, status, reserve, None);
    answer(status, head(evaluation, file), body)
}

/// The answer to `/v1/check/batch`.
pub(crate) fn batch(evaluations: &[(Evaluation, bool)], file: &RuleFile) -> Value {
    let each = evaluations
        .iter()
        .map(|(evaluation, reserve)| verdict(evaluation, file, status(evaluation), *reserve, None));
    answer(200, Map::new(), json!(each.collect::<Vec<_>>()))
}

/// The answer to `/v1/authorize`.
pub(crate) fn authorize(evaluation: &Evaluation, file: &RuleFile) -> Value {
    let status = status(evaluation);
    let mut head = head(evaluation, file);
    if evaluation.has_slot() {
        head.insert("x-sluicegate-slot".into(), json!(TOKEN));
    }
    let delay = evaluation.verdict.as_ref().map_or(0, |verdict| verdict.delay_us);
    if delay > 0 {
        head.insert("x-sluicegate-delay-ms".into(), json!(millis(delay).to_string()));
    }
    let body = problem(evaluation, file, status, true).map_or(Value::Null, Value::Object);
    answer(status, head, body)
}

/// The answer to `/v1/throttle`.
pub(crate) fn throttle(evaluation: &Evaluation, file: &RuleFile) -> Value {
    let status = status(evaluation);
    let body = verdict(evaluation, file, status, false, Some("throttle"));
    answer(status, head(evaluation, file), body)
}

/// The answer to `/v1/throttle/batch`.
pub(crate) fn throttle_batch(evaluations: &[Evaluation], file: &RuleFile) -> Value {
    let each = evaluations
        .iter()
        .map(|evaluation| verdict(evaluation, file, status(evaluation), false, Some("throttle")));
    answer(200, Map::new(), json!(each.collect::<Vec<_>>()))
}

/// The answer to `/v1/report`.
pub(crate) fn report(evaluation: &Evaluation, file: &RuleFile) -> Value {
    let blocked = evaluation.outcome == Outcome::Blocked;
    let mut body = json!({
        "counted": 0, "settled": 0, "blocked": blocked, "retry_after_ms": null, "decisions": [],
    });
    let Some(made) = evaluation.verdict.as_ref().map(|verdict| &verdict.decisions) else {
        return answer(200, Map::new(), body);
    };
    let (mut counted, mut settled, mut blocked, mut retry) = (0, 0, false, None::<u64>);
    let mut decisions = Vec::new();
    for (check, made) in evaluation.checks.iter().zip(made) {
        let Some(made) = made else { continue };
        match check.ask {
            AskSpec::Charge { .. } => counted += u64::from(made.granted > 0),
            AskSpec::Refund { .. } => settled += u64::from(made.granted > 0),
            _ => {
                let shadow = rule_is_shadow(check, file);
                if !shadow {
                    blocked |= !made.allowed;
                    retry = retry.max(made.retry_after_us);
                }
                decisions.push(decision(check, made, file, true, false));
            }
        }
    }
    body["counted"] = json!(counted);
    body["settled"] = json!(settled);
    body["blocked"] = json!(blocked);
    body["retry_after_ms"] = json!(retry.map(millis));
    body["decisions"] = json!(decisions);
    answer(200, Map::new(), body)
}

#[allow(clippy::needless_pass_by_value, reason = "a part of the answer")]
fn answer(status: u16, mut head: Map<String, Value>, body: Value) -> Value {
    head.insert("cache-control".into(), json!("no-store"));
    let kind = match status {
        ..400 => "application/json",
        _ => "application/problem+json",
    };
    if !body.is_null() {
        head.insert("content-type".into(), json!(kind));
    }
    json!({"status": status, "headers": head, "body": body})
}

fn head(evaluation: &Evaluation, file: &RuleFile) -> Map<String, Value> {
    let head: Map<String, Value> =
        headers(evaluation, file).into_iter().map(|(name, value)| (name, json!(value))).collect();
    head
}

fn status(evaluation: &Evaluation) -> u16 {
    kind(evaluation).map_or(200, super::problem::Kind::status)
}

/// The verdict as JSON; a refusal is a problem, too.
fn verdict(
    evaluation: &Evaluation,
    file: &RuleFile,
    status: u16,
    reserve: bool,
    rule: Option<&str>,
) -> Value {
    let problem = problem(evaluation, file, status, false);
    let refused = problem.is_some();
    let mut out = problem.unwrap_or_default();
    let summary = Summary::of(evaluation, file);
    out.insert("allowed".into(), json!(evaluation.is_allowed()));
    out.insert("rule".into(), json!(rule.or(summary.rule.as_deref())));
    out.insert("reason".into(), json!(summary.reason));
    if let Some(identity) = &summary.identity {
        out.insert("identity".into(), json!(identity));
    }
    if let Some(tier) = evaluation.tier.as_ref().filter(|_| !refused) {
        out.insert("tier".into(), json!(tier));
    }
    out.insert("limit".into(), json!(summary.limit));
    out.insert("remaining".into(), json!(summary.remaining));
    out.insert("cost".into(), json!(evaluation.cost));
    out.insert("retry_after_ms".into(), json!(summary.retry_after_ms));
    out.insert("reset_after_ms".into(), json!(summary.reset_after_ms));
    out.insert("delay_ms".into(), json!(summary.delay_ms));
    if let Some(by) = evaluation.by {
        out.insert("by".into(), json!(by));
    }
    if evaluation.has_slot() {
        out.insert("slot".into(), json!(TOKEN));
    }
    let mut receipts = evaluation.receipts();
    let settles = |check: &Planned| !check.limit.holds() && !check.limit.is_cooldown();
    if reserve && receipts.any(|(_, check)| settles(check)) {
        out.insert("reservation".into(), json!(TOKEN));
    }
    out.insert("decisions".into(), json!(decisions(evaluation, file)));
    Value::Object(out)
}

/// The fields that every transport has about a checked request.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) rule: Option<String>,
    pub(super) reason: Option<&'static str>,
    pub(super) identity: Option<String>,
    pub(super) limit: Option<u64>,
    pub(super) remaining: Option<u64>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) reset_after_ms: Option<u64>,
    pub(super) delay_ms: u64,
}

impl Summary {
    pub(super) fn of(evaluation: &Evaluation, file: &RuleFile) -> Self {
        let strictest = evaluation.strictest();
        let verdict = evaluation.verdict.as_ref();
        let name = |check: &Planned| Some(file.rules.get(check.rule?)?.name.clone());
        let known = strictest.filter(|(_, check, _)| !check.is_unasked());
        let refused = strictest.filter(|_| verdict.is_some_and(|verdict| !verdict.allowed));
        let summary = Self {
            rule: strictest.and_then(|(_, check, _)| name(check)),
            reason: refused.and_then(|(_, check, made)| Evaluation::reason(check, made)),
            identity: None,
            limit: known.map(|(_, _, made)| made.limit),
            remaining: known.map(|(_, _, made)| made.remaining),
            retry_after_ms: verdict.and_then(|verdict| verdict.retry_after_us).map(millis),
            reset_after_ms: known.map(|(_, _, made)| millis(made.reset_after_us)),
            delay_ms: verdict.map_or(0, |verdict| millis(verdict.delay_us)),
        };
        match &evaluation.outcome {
            Outcome::Asked | Outcome::Free => summary,
            Outcome::Blocked => Self { reason: Some("listed"), ..summary },
            Outcome::Unidentified { identity, rule } => Self {
                rule: Some(rule.clone()),
                reason: Some("unidentified"),
                identity: Some(identity.clone()),
                ..summary
            },
        }
    }
}

fn decisions(evaluation: &Evaluation, file: &RuleFile) -> Vec<Value> {
    let Some(verdict) = &evaluation.verdict else { return Vec::new() };
    let mut out = Vec::new();
    let made = verdict.decisions.iter().zip(&verdict.admitted);
    for (check, (made, admitted)) in evaluation.checks.iter().zip(made) {
        let Some(made) = made else { continue };
        let soft = check.alternative && *admitted && made.allowed;
        if !check.is_rescale() {
            out.push(decision(check, made, file, *admitted, soft));
        }
    }
    out
}

fn rule_is_shadow(check: &Planned, file: &RuleFile) -> bool {
    check.rule.and_then(|rule| file.rules.get(rule)).is_some_and(|rule| rule.shadow)
}

fn decision(
    check: &Planned,
    made: &ExpectedDecision,
    file: &RuleFile,
    admitted: bool,
    soft: bool,
) -> Value {
    let delay = if admitted && made.allowed { made.delay_us + check.delay_us } else { 0 };
    let mut out = Map::new();
    if let Some(rule) = check.rule.and_then(|rule| file.rules.get(rule)) {
        out.insert("rule".into(), json!(rule.name));
        let mode = if rule.shadow { "shadow" } else { "enforce" };
        out.insert("mode".into(), json!(mode));
    }
    out.insert("limit_name".into(), json!(check.limit.policy));
    out.insert("algorithm".into(), json!(check.limit.algorithm));
    out.insert("allowed".into(), json!(made.allowed));
    if soft {
        out.insert("soft".into(), json!(true));
    }
    let known = !check.is_unasked();
    out.insert("reason".into(), json!(Evaluation::reason(check, made)));
    out.insert("limit".into(), json!(made.limit));
    out.insert("remaining".into(), json!(known.then_some(made.remaining)));
    out.insert("granted".into(), json!(made.granted));
    out.insert("retry_after_ms".into(), json!(made.retry_after_us.map(millis)));
    out.insert("reset_after_ms".into(), json!(known.then(|| millis(made.reset_after_us))));
    out.insert("delay_ms".into(), json!(millis(delay)));
    Value::Object(out)
}
