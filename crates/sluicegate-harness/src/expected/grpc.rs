//! The answer to a gRPC call of Envoy's rate limit service.

use serde_json::{Map, Value, json};

use super::headers::headers;
use super::http::Summary;
use super::problem::problem;
use super::{TOKEN, millis, seconds};
use crate::case::{Purpose, Request};
use crate::model::{Evaluation, Outcome, Planned, reason_word};
use crate::rule_file::RuleFile;

/// The statuses of Envoy's calls that the body is written for.
const STATUS: u16 = 429;

/// The answer to a call with these descriptors.
pub(crate) fn group(
    whole: &Evaluation,
    parts: &[Evaluation],
    items: &[(Request, Purpose)],
    file: &RuleFile,
) -> Value {
    let over: Vec<bool> = parts.iter().zip(items).map(|(part, item)| is_over(part, item)).collect();
    let any_over = over.contains(&true);
    let statuses: Vec<Value> =
        parts.iter().zip(&over).map(|(part, over)| status(part, *over)).collect();
    let mut head: Map<String, Value> =
        headers(whole, file).into_iter().map(|(name, value)| (name, json!(value))).collect();
    let mut body = Value::Null;
    if any_over {
        head.insert("content-type".into(), json!("application/problem+json"));
        body = match problem(whole, file, STATUS, true) {
            Some(problem) => Value::Object(problem),
            None => json!({
                "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
                "title": "Quota exceeded",
                "status": STATUS,
                "detail": "nothing is left of the limit; come back later",
            }),
        };
    }
    json!({
        "over": any_over,
        "statuses": statuses,
        "headers": head,
        "body": body,
        "metadata": metadata(whole, any_over, file),
    })
}

/// Refused, or looked at with nothing left.
fn is_over(part: &Evaluation, (request, purpose): &(Request, Purpose)) -> bool {
    let looked = *purpose == Purpose::Take && request.cost == Some(0);
    let empty = || part.strictest().is_some_and(|(_, _, made)| made.remaining == 0);
    !part.is_allowed() || (looked && empty())
}

fn status(part: &Evaluation, over: bool) -> Value {
    let Some((_, check, made)) = part.strictest() else {
        let left = if part.unlimited { u64::from(u32::MAX) } else { 0 };
        return json!({"over": over, "limit": null, "remaining": left, "reset_s": null});
    };
    let (amount, unit) = quota(check).unwrap_or((made.limit, "UNKNOWN"));
    json!({
        "over": over,
        "limit": {"requests_per_unit": amount, "unit": unit, "name": check.limit.policy},
        "remaining": made.remaining,
        "reset_s": seconds(made.reset_after_us),
    })
}

fn quota(check: &Planned) -> Option<(u64, &'static str)> {
    let quota = check.limit.quota?;
    let unit = match quota.period_us {
        1_000_000 => "SECOND",
        60_000_000 => "MINUTE",
        3_600_000_000 => "HOUR",
        86_400_000_000 => "DAY",
        604_800_000_000 => "WEEK",
        _ => "UNKNOWN",
    };
    Some((quota.amount, unit))
}

fn metadata(whole: &Evaluation, over: bool, file: &RuleFile) -> Value {
    let summary = Summary::of(whole, file);
    let reason = match whole.outcome {
        Outcome::Blocked | Outcome::Unidentified { .. } => summary.reason,
        Outcome::Asked | Outcome::Free => {
            let made = whole.strictest().and_then(|(_, _, made)| made.reason).map(reason_word);
            made.filter(|_| over).or(over.then_some("exhausted"))
        }
    };
    let verdict = whole.verdict.as_ref();
    let mut out = Map::new();
    let texts = [
        ("rule", summary.rule.clone()),
        ("reason", reason.map(str::to_owned)),
        ("tier", whole.tier.clone()),
        ("slot", whole.has_slot().then(|| TOKEN.to_owned())),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            out.insert(name.into(), json!(text));
        }
    }
    let delay = verdict.map(|verdict| verdict.delay_us).filter(|delay| *delay > 0);
    let numbers =
        [("retry_after_ms", verdict.and_then(|it| it.retry_after_us)), ("delay_ms", delay)];
    for (name, micros) in numbers {
        if let Some(micros) = micros {
            out.insert(name.into(), json!(millis(micros)));
        }
    }
    Value::Object(out)
}
