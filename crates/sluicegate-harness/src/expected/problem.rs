//! A refusal as a problem document.

use serde_json::{Map, Value, json};
use sluicegate_oracle::trace::Reason;

use super::seconds;
use crate::model::{Evaluation, Outcome, Planned, span};
use crate::rule_file::{RuleFile, UPGRADE};

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Quota,
    Abuse,
    /// The shared store is down.
    Capacity,
    Listed,
    Unidentified,
}

impl Kind {
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Quota | Self::Abuse => 429,
            Self::Capacity => 503,
            Self::Listed => 403,
            Self::Unidentified => 401,
        }
    }
}

pub(super) fn kind(evaluation: &Evaluation) -> Option<Kind> {
    if evaluation.is_allowed() {
        return None;
    }
    Some(match evaluation.outcome {
        Outcome::Blocked => Kind::Listed,
        Outcome::Unidentified { .. } => Kind::Unidentified,
        Outcome::Asked | Outcome::Free => {
            match evaluation.strictest().map(|(_, check, made)| (check.is_unasked(), made.reason)) {
                Some((true, _)) => Kind::Capacity,
                Some((false, Some(Reason::Blocked))) => Kind::Abuse,
                _ => Kind::Quota,
            }
        }
    })
}

/// The fields of the problem; callers do not see rules that are hidden.
pub(super) fn problem(
    evaluation: &Evaluation,
    file: &RuleFile,
    status: u16,
    for_callers: bool,
) -> Option<Map<String, Value>> {
    let kind = kind(evaluation)?;
    let registered = |name: &str| format!("https://iana.org/assignments/http-problem-types#{name}");
    let (name, title) = match kind {
        Kind::Quota => (registered("quota-exceeded"), "Quota exceeded"),
        Kind::Abuse => (registered("abnormal-usage-detected"), "Abnormal usage detected"),
        Kind::Capacity => (registered("temporary-reduced-capacity"), "Temporary reduced capacity"),
        // The title is that of the status.
        Kind::Listed | Kind::Unidentified => (
            "about:blank".to_owned(),
            match status {
                401 => "Unauthorized",
                403 => "Forbidden",
                429 => "Too Many Requests",
                other => unreachable!("no answer has the status {other}"),
            },
        ),
    };
    let mut out = Map::new();
    out.insert("type".into(), json!(name));
    out.insert("title".into(), json!(title));
    out.insert("status".into(), json!(status));
    out.insert("detail".into(), json!(detail(evaluation, file, for_callers)));
    if evaluation.verdict.is_some() {
        let violated = violated(evaluation, file, for_callers);
        out.insert("violated-policies".into(), json!(violated));
    }
    if let Some(tier) = &evaluation.tier {
        out.insert("tier".into(), json!(tier));
    }
    if kind == Kind::Quota && file.headers.upgrade {
        out.insert("upgrade".into(), json!({"url": UPGRADE.0, "message": UPGRADE.1}));
    }
    Some(out)
}

fn is_hidden(check: &Planned, file: &RuleFile) -> bool {
    check.rule.and_then(|rule| file.rules.get(rule)).is_some_and(|rule| rule.hidden)
}

fn detail(evaluation: &Evaluation, file: &RuleFile, for_callers: bool) -> String {
    match &evaluation.outcome {
        Outcome::Blocked => return "the caller is on the block-list".to_owned(),
        Outcome::Unidentified { identity, rule } => {
            let hidden = file.rules.iter().any(|one| one.name == *rule && one.hidden);
            if for_callers && hidden {
                return format!("the request does not have the identity `{identity}`");
            }
            return format!(
                "the rule `{rule}` needs the identity `{identity}`, and the request does not have \
                 it"
            );
        }
        Outcome::Asked | Outcome::Free => {}
    }
    let Some((_, check, made)) = evaluation.strictest() else {
        return "the request is refused".to_owned();
    };
    if check.is_unasked() {
        return "the shared store is unavailable and this rule fails closed; try again later"
            .to_owned();
    }
    let rule = check.rule.and_then(|rule| file.rules.get(rule));
    if let Some(message) = rule.and_then(|rule| rule.message.clone()) {
        return message;
    }
    if for_callers && is_hidden(check, file) {
        return match made.retry_after_us {
            Some(wait) => format!("the request is refused; come back in {}", waiting(wait)),
            None => "the request is refused".to_owned(),
        };
    }
    let (policy, most) = (&check.limit.policy, made.limit);
    let wait = waiting(made.retry_after_us.unwrap_or(0));
    match made.reason {
        Some(Reason::Exhausted) => {
            let within = match check.limit.recovery_us {
                Some(recovery) => format!("{most} in {}", span(recovery)),
                None => most.to_string(),
            };
            format!("the limit `{policy}` ({within}) is used up; come back in {wait}")
        }
        Some(Reason::Blocked) => {
            format!("`{policy}` blocks after too many failures; come back in {wait}")
        }
        Some(Reason::Busy) => format!(
            "all {most} slots of `{policy}` are in use; come back when one of the requests in \
             flight has ended"
        ),
        Some(Reason::CostAboveLimit) => format!(
            "the request costs {}, and the limit `{policy}` never has more than {most}; ask for \
             less",
            evaluation.cost
        ),
        _ => format!("the limit `{policy}` refuses"),
    }
}

fn waiting(micros: u64) -> String {
    let seconds = seconds(micros).max(1);
    let (count, unit) = match seconds {
        ..=119 => (seconds, "second"),
        120..=7_199 => (seconds.div_ceil(60), "minute"),
        7_200..=172_799 => (seconds.div_ceil(3_600), "hour"),
        _ => (seconds.div_ceil(86_400), "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// The names of all limits that refuse.
fn violated<'e>(evaluation: &'e Evaluation, file: &RuleFile, for_callers: bool) -> Vec<&'e str> {
    let mut out: Vec<&str> = Vec::new();
    let Some(verdict) = &evaluation.verdict else { return out };
    let mut term_start = 0;
    for (check, made) in evaluation.checks.iter().zip(&verdict.decisions) {
        if !check.alternative {
            term_start = out.len();
        }
        match made.filter(|_| !check.shadow) {
            Some(made) if made.allowed => out.truncate(term_start),
            Some(_) if for_callers && is_hidden(check, file) => {}
            Some(_) => out.push(&check.limit.policy),
            None => {}
        }
    }
    out
}
