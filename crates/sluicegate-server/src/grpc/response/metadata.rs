//! Dynamic metadata of a response, for access logs and later Envoy filters.

use sluicegate::{DecidedBy, Mode, Refusal, Span, Verdict};
use sluicegate_rules::{Evaluation, PlanOutcome};

use crate::grpc::protobuf_writer::ProtobufWriter;

/// Writes the reasons for the decision as metadata, if there are any.
pub(super) fn write(
    writer: &mut ProtobufWriter,
    field: u32,
    evaluation: &Evaluation<'_>,
    over: bool,
) {
    let planned = evaluation.planned;
    let verdict = evaluation.verdict;
    let strictest = verdict.and_then(Verdict::strictest);
    let enforced = strictest.filter(|strictest| {
        let check = planned.plan().checks().get(strictest.check);
        check.is_some_and(|check| check.mode() == Mode::Enforce)
    });
    let rule = enforced.and_then(|strictest| planned.rule(strictest.check));
    let (rule, reason) = match planned.outcome() {
        PlanOutcome::Blocked => (None, Some("listed")),
        PlanOutcome::Unidentified { rule, .. } => (Some(rule), Some("unidentified")),
        PlanOutcome::Check | PlanOutcome::Free => {
            let refusal = enforced.and_then(|strictest| strictest.decision.refusal());
            let reason = refusal.map(Refusal::as_str).filter(|_| over);
            (rule.map(sluicegate_rules::Rule::name), reason.or(over.then_some("exhausted")))
        }
    };
    let retry_after = verdict.and_then(Verdict::retry_after);
    let delay = verdict.map(Verdict::delay).filter(|delay| !delay.is_zero());
    let by = verdict.map(Verdict::by).filter(|by| *by != DecidedBy::Store);
    let slot = evaluation.slot();
    let texts = [
        ("rule", rule),
        ("reason", reason),
        ("tier", planned.tier()),
        ("by", by.map(DecidedBy::as_str)),
        ("slot", slot.as_deref()),
    ];
    let numbers = [("retry_after_ms", retry_after), ("delay_ms", delay)];
    let nothing = texts.iter().all(|(_, text)| text.is_none())
        && numbers.iter().all(|(_, number)| number.is_none());
    if nothing {
        return;
    }
    writer.message(field, |fields| {
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

fn entry(fields: &mut ProtobufWriter, name: &str, write: impl FnOnce(&mut ProtobufWriter)) {
    fields.message(1, |entry| {
        entry.bytes(1, name.as_bytes());
        entry.message(2, write);
    });
}

#[allow(clippy::cast_precision_loss, reason = "a span in milliseconds is far below 2^53")]
fn millis(span: Span) -> f64 {
    span.as_millis_ceil() as f64
}
