//! Dynamic metadata of a response, for access logs and later Envoy filters.

use sluicegate::{DecidedBy, Span};
use sluicegate_http::RateLimitInfo;

use crate::grpc::protobuf_writer::ProtobufWriter;

/// Writes the reasons for the decision as metadata, if there are any.
pub(super) fn write(
    writer: &mut ProtobufWriter,
    field: u32,
    info: &RateLimitInfo<'_>,
    slot: Option<&str>,
    over: bool,
) {
    let delay = Some(info.delay()).filter(|delay| !delay.is_zero());
    let by = Some(info.by()).filter(|by| *by != DecidedBy::Store);
    let texts = [
        ("rule", info.rule()),
        ("reason", info.reason().or(over.then_some("exhausted"))),
        ("tier", info.tier()),
        ("by", by.map(DecidedBy::as_str)),
        ("slot", slot),
    ];
    let numbers = [("retry_after_ms", info.retry_after()), ("delay_ms", delay)];
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
