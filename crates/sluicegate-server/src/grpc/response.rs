//! Writes the response to a rate limit call.

mod metadata;
mod status;

use serde_json::json;
use sluicegate::Time;
use sluicegate_http::{Audience, Problem, RateLimitInfo};
use sluicegate_rules::GroupEvaluation;

use self::status::LimitStatus;
use super::descriptor::Descriptor;
use super::framing::PREFIX;
use super::overrides::DescriptorOverride;
use super::proto::envoy::service::ratelimit::v3::rate_limit_response::Code;
use super::protobuf_writer::ProtobufWriter;

/// The field numbers of a response.
mod field {
    pub(super) const OVERALL_CODE: u32 = 1;
    pub(super) const STATUSES: u32 = 2;
    pub(super) const RESPONSE_HEADERS_TO_ADD: u32 = 3;
    pub(super) const RAW_BODY: u32 = 5;
    pub(super) const DYNAMIC_METADATA: u32 = 6;
}

/// Longer than most responses, so that writing one allocates once.
const USUAL_LENGTH: usize = 512;
/// Longer than the longest header value usually is.
const USUAL_LINE: usize = 192;
/// The status that Envoy sends for a refused request by default.
const STATUS: u16 = 429;

/// The descriptors of a call.
pub(super) struct RateLimitCall<'a, 'm, O> {
    pub(super) descriptors: &'a [Descriptor<'m>],
    /// Returns the limit override of a descriptor.
    pub(super) own: &'a O,
}

/// Writes the response, after space for the message prefix.
pub(super) fn write<'o, O: Fn(usize) -> Option<&'o DescriptorOverride>>(
    call: &RateLimitCall<'_, '_, O>,
    group: &GroupEvaluation<'_>,
    now: impl FnOnce() -> Time,
) -> Vec<u8> {
    let mut framed = Vec::with_capacity(USUAL_LENGTH);
    framed.resize(PREFIX, 0);
    let mut writer = ProtobufWriter::append(framed);
    let parts = group.parts.iter().zip(call.descriptors).enumerate();
    let statuses = parts.map(|(index, (part, descriptor))| LimitStatus {
        evaluation: part,
        descriptor,
        own: (call.own)(index),
    });
    let over = statuses.clone().any(|status| status.is_over());
    writer.number(field::OVERALL_CODE, code(over));
    for status in statuses {
        writer.message(field::STATUSES, |message| status.write(message));
    }
    let info = RateLimitInfo::of(group.whole);
    let mut line = String::with_capacity(USUAL_LINE);
    info.for_each_header(info.time(now), &mut line, |name, value| {
        header(&mut writer, name.as_str(), value);
    });
    if over {
        // Only for refusals, because an allowed request has its own content type.
        header(&mut writer, "content-type", Problem::CONTENT_TYPE);
        // Envoy forwards the body to the caller.
        let problem = info.problem(STATUS, Audience::Caller);
        let body = match &problem {
            Some(problem) => serde_json::to_vec(problem),
            None => serde_json::to_vec(&status::ExhaustedProblem::QUOTA),
        };
        writer.bytes(field::RAW_BODY, &body.unwrap_or_default());
    }
    let slot = group.whole.slot();
    metadata::write(&mut writer, field::DYNAMIC_METADATA, &info, slot.as_deref(), over);
    writer.into_bytes()
}

/// Writes the refusal of an invalid call.
pub(super) fn invalid_call(why: &str) -> Vec<u8> {
    let mut writer = ProtobufWriter::append(vec![0; PREFIX]);
    writer.number(field::OVERALL_CODE, code(true));
    header(&mut writer, "content-type", Problem::CONTENT_TYPE);
    let body = json!({
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": STATUS,
        "detail": why,
    });
    writer.bytes(field::RAW_BODY, body.to_string().as_bytes());
    writer.into_bytes()
}

fn code(over: bool) -> u64 {
    let code = if over { Code::OverLimit } else { Code::Ok };
    code as u64
}

fn header(writer: &mut ProtobufWriter, name: &str, value: &str) {
    writer.message(field::RESPONSE_HEADERS_TO_ADD, |header| {
        header.bytes(1, name.as_bytes());
        header.bytes(2, value.as_bytes());
    });
}
