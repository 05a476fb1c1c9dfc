//! Answers to settlements, releases and renewals.

use serde_json::{Value, json};
use sluicegate_oracle::trace::{ExpectedDecision, Reason};

use super::millis;
use crate::model::{Settlement, reason_word};
use crate::rule_file::RuleFile;

/// The answer to `/v1/settle`.
pub(crate) fn settled(settlement: &Settlement, cost: u64, file: &RuleFile) -> Value {
    let made = || settlement.limits.iter().filter_map(|(_, _, made)| made.as_ref());
    let spent = made().any(|made| made.reason == Some(Reason::Spent));
    let settled = made().any(|made| made.allowed) && !spent;
    let reason = match (settled, spent) {
        (true, _) => None,
        (false, true) => Some("spent"),
        (false, false) => Some(made().find_map(|made| made.reason).map_or("lost", reason_word)),
    };
    let decisions = settlement.limits.iter().map(|(check, estimated, made)| {
        let Some(made) = made else {
            return json!({
                "rule": null, "limit_name": check.limit.name, "algorithm": null, "settled": false,
                "reason": "lost", "estimated": estimated, "charged": null, "limit": null,
                "remaining": null, "reset_after_ms": null,
            });
        };
        json!({
            "rule": check.rule.and_then(|rule| file.rules.get(rule)).map(|rule| &rule.name),
            "limit_name": check.limit.policy,
            "algorithm": check.limit.algorithm,
            "settled": made.allowed,
            "reason": made.reason.map(reason_word),
            "estimated": estimated,
            "charged": made.allowed.then_some(made.granted),
            "limit": made.limit,
            "remaining": made.remaining,
            "reset_after_ms": millis(made.reset_after_us),
        })
    });
    let body = json!({
        "settled": settled,
        "reason": reason,
        "cost": cost,
        "decisions": decisions.collect::<Vec<_>>(),
    });
    json!({"status": 200, "headers": head(), "body": body})
}

/// The answer to `/v1/release`.
pub(crate) fn released(settlement: &Settlement) -> Value {
    let (done, gone) = counted(settlement);
    json!({"status": 200, "headers": head(), "body": {"released": done, "gone": gone}})
}

/// The answer to `/v1/renew`.
pub(crate) fn renewed(settlement: &Settlement) -> Value {
    let (done, gone) = counted(settlement);
    let leases = settlement.limits.iter().filter(|(_, _, made)| is_allowed(*made));
    let lease = leases.filter_map(|(check, _, _)| check.limit.lease_us()).min();
    let body = json!({
        "held": gone == 0,
        "renewed": done,
        "gone": gone,
        "expires_after_ms": lease.map(|lease| lease / 1_000),
    });
    json!({"status": 200, "headers": head(), "body": body})
}

/// The headers of an answer that does not concern a request.
fn head() -> Value {
    json!({"cache-control": "no-store", "content-type": "application/json"})
}

fn is_allowed(made: Option<ExpectedDecision>) -> bool {
    made.is_some_and(|made| made.allowed)
}

fn counted(settlement: &Settlement) -> (usize, usize) {
    let done = settlement.limits.iter().filter(|(_, _, made)| is_allowed(*made)).count();
    (done, settlement.limits.len() - done)
}
