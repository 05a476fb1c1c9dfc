//! What is told beside the answer: for access logs, and for the filters behind the one that asked.

use sluicegate::{By, Gate, Refusal, Span, Verdict};
use sluicegate_rules::{Answered, Outcome};

use super::super::wire::Wire;

/// Writes why it was decided so, as far as anything is known.
pub(super) fn write(wire: &mut Wire, field: u32, answered: &Answered<'_>, over: bool) {
    let planned = answered.planned;
    let verdict = answered.verdict;
    let strictest = verdict.and_then(Verdict::strictest);
    let enforced = strictest.filter(|strictest| {
        let check = planned.plan().checks().get(strictest.check);
        check.is_some_and(|check| check.gate() == Gate::Enforce)
    });
    let rule = enforced.and_then(|strictest| planned.rule(strictest.check));
    let (rule, reason) = match planned.outcome() {
        Outcome::Blocked => (None, Some("listed")),
        Outcome::Unidentified { rule, .. } => (Some(rule), Some("unidentified")),
        Outcome::Ask | Outcome::Free => {
            let refusal = enforced.and_then(|strictest| strictest.decision.refusal());
            let reason = refusal.map(Refusal::as_str).filter(|_| over);
            (rule.map(sluicegate_rules::Rule::name), reason.or(over.then_some("exhausted")))
        }
    };
    let retry_after = verdict.and_then(Verdict::retry_after);
    let delay = verdict.map(Verdict::delay).filter(|delay| !delay.is_zero());
    let by = verdict.map(Verdict::by).filter(|by| *by != By::Store);
    let slot = answered.slot();
    let texts = [
        ("rule", rule),
        ("reason", reason),
        ("tier", planned.tier()),
        ("by", by.map(By::as_str)),
        ("slot", slot.as_deref()),
    ];
    let numbers = [("retry_after_ms", retry_after), ("delay_ms", delay)];
    let nothing = texts.iter().all(|(_, text)| text.is_none())
        && numbers.iter().all(|(_, number)| number.is_none());
    if nothing {
        return;
    }
    wire.message(field, |fields| {
        for (name, text) in texts {
            if let Some(text) = text {
                entry(fields, name, |value| value.bytes(3, text.as_bytes()));
            }
        }
        for (name, span) in numbers {
            if let Some(span) = span {
                entry(fields, name, |value| value.double(2, millis(span)));
            }
        }
    });
}

fn entry(fields: &mut Wire, name: &str, write: impl FnOnce(&mut Wire)) {
    fields.message(1, |entry| {
        entry.bytes(1, name.as_bytes());
        entry.message(2, write);
    });
}

#[allow(clippy::cast_precision_loss, reason = "a span in milliseconds is far below 2^53")]
fn millis(span: Span) -> f64 {
    span.as_millis_ceil() as f64
}
