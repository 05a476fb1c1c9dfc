//! What was decided, as the answer to a call.

mod metadata;
mod status;

use serde_json::json;
use sluicegate::Time;
use sluicegate_rules::Together;

use self::status::Standing;
use super::descriptor::Descriptor;
use super::framing::PREFIX;
use super::overrides::Override;
use super::proto::envoy::service::ratelimit::v3::rate_limit_response::Code;
use super::wire::Wire;
use crate::told::{Problem, Told};

/// The fields of an answer.
mod field {
    pub(super) const OVERALL_CODE: u32 = 1;
    pub(super) const STATUSES: u32 = 2;
    pub(super) const RESPONSE_HEADERS_TO_ADD: u32 = 3;
    pub(super) const RAW_BODY: u32 = 5;
    pub(super) const DYNAMIC_METADATA: u32 = 6;
}

/// Longer than most answers, so that writing one asks for memory once.
const USUAL: usize = 512;
/// Longer than all values of headers together usually are.
const USUAL_LINE: usize = 192;
/// What Envoy answers a refused request with, unless it is told otherwise.
const STATUS: u16 = 429;

/// What a call asked.
pub(super) struct Asked<'a, 'm, O> {
    pub(super) descriptors: &'a [Descriptor<'m>],
    /// The limit that came with a descriptor.
    pub(super) own: &'a O,
}

/// The answer, behind room for what has to be before it.
pub(super) fn write<'o, O: Fn(usize) -> Option<&'o Override>>(
    asked: &Asked<'_, '_, O>,
    together: &Together<'_>,
    now: impl FnOnce() -> Time,
) -> Vec<u8> {
    let mut framed = Vec::with_capacity(USUAL);
    framed.resize(PREFIX, 0);
    let mut wire = Wire::behind(framed);
    let parts = together.parts.iter().zip(asked.descriptors).enumerate();
    let standings = parts.map(|(index, (part, descriptor))| Standing {
        answered: part,
        descriptor,
        own: (asked.own)(index),
    });
    let over = standings.clone().any(|standing| standing.is_over());
    wire.number(field::OVERALL_CODE, code(over));
    for standing in standings {
        wire.message(field::STATUSES, |status| standing.write(status));
    }
    let told = Told::answered(together.whole);
    let mut line = String::with_capacity(USUAL_LINE);
    told.each(told.time(now), &mut line, |name, value| header(&mut wire, name.as_str(), value));
    if over {
        // Only then: what goes ahead has a type of its own already.
        header(&mut wire, "content-type", Problem::CONTENT_TYPE);
        let problem = told.problem(STATUS);
        let body = match &problem {
            Some(problem) => serde_json::to_vec(problem),
            None => serde_json::to_vec(&status::Nothing::LEFT),
        };
        wire.bytes(field::RAW_BODY, &body.unwrap_or_default());
    }
    metadata::write(&mut wire, field::DYNAMIC_METADATA, together.whole, over);
    wire.into_bytes()
}

/// The refusal of a call that cannot be read.
pub(super) fn unreadable(why: &str) -> Vec<u8> {
    let mut wire = Wire::behind(vec![0; PREFIX]);
    wire.number(field::OVERALL_CODE, code(true));
    header(&mut wire, "content-type", Problem::CONTENT_TYPE);
    let body =
        json!({"type": "about:blank", "title": "Bad Request", "status": STATUS, "detail": why});
    wire.bytes(field::RAW_BODY, body.to_string().as_bytes());
    wire.into_bytes()
}

fn code(over: bool) -> u64 {
    let code = if over { Code::OverLimit } else { Code::Ok };
    code as u64
}

fn header(wire: &mut Wire, name: &str, value: &str) {
    wire.message(field::RESPONSE_HEADERS_TO_ADD, |header| {
        header.bytes(1, name.as_bytes());
        header.bytes(2, value.as_bytes());
    });
}
