//! The rate-limit headers of an answer.

use std::collections::BTreeMap;

use sluicegate_oracle::trace::ExpectedDecision;

use super::problem::{Kind, kind};
use super::seconds;
use crate::model::{Evaluation, Limit, Outcome, Planned, smaller_share};
use crate::rule_file::{HeaderNames, RuleFile, UPGRADE};

/// The headers by their names in lower case.
pub(super) fn headers(evaluation: &Evaluation, file: &RuleFile) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let met = met(evaluation, file);
    let refused = kind(evaluation);
    let retry = retry_after(evaluation);
    let family = match file.headers.names {
        HeaderNames::XRatelimit => Some(("x-ratelimit-", "x-ratelimit-")),
        HeaderNames::XRateLimit => Some(("x-rate-limit-", "x-rate-limit-")),
        HeaderNames::Legacy => Some(("ratelimit-", "x-ratelimit-")),
        HeaderNames::Off => None,
    };
    if let Some((prefix, extras)) = family {
        let strictest = evaluation.verdict.as_ref().and_then(|verdict| verdict.strictest);
        if let Some((place, _, made)) = met.first()
            && (evaluation.is_allowed() || strictest == Some(*place))
        {
            let reset = match file.headers.epoch {
                true => seconds(evaluation.now + made.reset_after_us),
                false => seconds(made.reset_after_us),
            };
            out.insert(format!("{prefix}limit"), made.limit.to_string());
            out.insert(format!("{prefix}remaining"), made.remaining.to_string());
            out.insert(format!("{prefix}reset"), reset.to_string());
        }
        if evaluation.verdict.is_some() && evaluation.cost != 1 {
            out.insert(format!("{extras}cost"), evaluation.cost.to_string());
        }
        if let Some(tier) = &evaluation.tier {
            out.insert(format!("{extras}tier"), tier.clone());
        }
        if refused == Some(Kind::Quota) && file.headers.upgrade {
            out.insert(format!("{extras}upgrade-url"), UPGRADE.0.to_owned());
        }
    }
    if !file.headers.no_ietf && !met.is_empty() {
        let policies: Vec<String> = met.iter().map(|(_, check, _)| policy(check)).collect();
        let standings = met.iter().map(|(_, check, made)| standing(check, made, retry));
        out.insert("ratelimit-policy".into(), policies.join(", "));
        out.insert("ratelimit".into(), standings.collect::<Vec<_>>().join(", "));
    }
    if let Some(retry) = retry {
        out.insert("retry-after".into(), retry.to_string());
    }
    if refused.is_some() {
        out.insert("cache-control".into(), "no-store".into());
    }
    if let Outcome::Unidentified { identity, .. } = &evaluation.outcome {
        out.insert("www-authenticate".into(), format!("Sluicegate identity=\"{identity}\""));
    }
    out
}

/// When to come back, in seconds.
pub(super) fn retry_after(evaluation: &Evaluation) -> Option<u64> {
    let verdict = evaluation.verdict.as_ref().filter(|_| !evaluation.is_allowed())?;
    verdict.retry_after_us.map(|wait| seconds(wait).max(1))
}

type Met<'a> = (usize, &'a Planned, &'a ExpectedDecision);

/// The limits visible to callers: the strictest, then those that refuse, then by share left.
fn met<'a>(evaluation: &'a Evaluation, file: &RuleFile) -> Vec<Met<'a>> {
    let Some(verdict) = &evaluation.verdict else { return Vec::new() };
    let shown = |check: &Planned, made: &ExpectedDecision| {
        let hidden =
            check.rule.and_then(|rule| file.rules.get(rule)).is_some_and(|rule| rule.hidden);
        !check.shadow
            && !check.is_rescale()
            && !hidden
            && !check.is_unasked()
            && (!made.allowed || !check.limit.is_cooldown())
    };
    let mut met: Vec<Met<'_>> = Vec::new();
    for (place, (check, made)) in evaluation.checks.iter().zip(&verdict.decisions).enumerate() {
        if let Some(made) = made.as_ref().filter(|made| shown(check, made)) {
            met.push((place, check, made));
        }
    }
    let rank = |(place, _, made): &Met<'_>| (verdict.strictest != Some(*place), made.allowed);
    met.sort_by(|one, other| {
        let by_share = match (smaller_share(one.2, other.2), smaller_share(other.2, one.2)) {
            (true, _) => std::cmp::Ordering::Less,
            (_, true) => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        };
        rank(one).cmp(&rank(other)).then(by_share)
    });
    let mut names: Vec<&str> = Vec::new();
    met.retain(|(_, check, _)| {
        let new = !names.contains(&check.limit.name.as_str());
        names.push(&check.limit.name);
        new
    });
    met
}

fn policy(check: &Planned) -> String {
    let Limit { policy, capacity, recovery_us, .. } = &check.limit;
    let mut out = format!("\"{policy}\";q={capacity}");
    if let Some(recovery) = recovery_us {
        out.push_str(&format!(";w={}", seconds(*recovery).max(1)));
    }
    if check.limit.holds() {
        out.push_str(";qu=\"concurrent-requests\"");
    } else if check.limit.is_cooldown() {
        out.push_str(";qu=\"sluicegate-failures\"");
    }
    out
}

fn standing(check: &Planned, made: &ExpectedDecision, retry: Option<u64>) -> String {
    let mut out = format!("\"{}\";r={}", check.limit.policy, made.remaining);
    let until = until_more(&check.limit, made);
    if let Some(until) = until.filter(|until| retry.is_none_or(|retry| *until <= retry)) {
        out.push_str(&format!(";t={until}"));
    }
    out
}

/// Returns the seconds until more units are available.
fn until_more(limit: &Limit, made: &ExpectedDecision) -> Option<u64> {
    if limit.holds() || made.reset_after_us == 0 {
        return made.retry_after_us.map(|wait| seconds(wait).max(1));
    }
    let next = match limit.algorithm {
        "token_bucket" | "leaky_bucket" => next_unit(limit, made).unwrap_or(made.reset_after_us),
        _ => made.reset_after_us,
    };
    Some(seconds(made.retry_after_us.map_or(next, |wait| wait.min(next))).max(1))
}

/// When a bucket has its next whole unit.
fn next_unit(limit: &Limit, made: &ExpectedDecision) -> Option<u64> {
    let missing_then = made.limit.checked_sub(made.remaining)?.checked_sub(1)?;
    let full = u128::from(limit.recovery_us?);
    let filling = u128::from(missing_then) * full / u128::from(made.limit.max(1));
    Some(made.reset_after_us.saturating_sub(u64::try_from(filling).ok()?))
}
