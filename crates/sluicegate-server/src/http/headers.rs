//! What a caller is told, as headers of a response.

use hyper::HeaderMap;
use hyper::header::{CACHE_CONTROL, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use sluicegate::Time;

use crate::told::{Family, Header, Spelling, Told};

/// More than an answer usually has: the map is made once and does not grow.
const USUAL: usize = 12;
/// Longer than all values together usually are.
const USUAL_LENGTH: usize = 192;

/// Writes the headers about a request that was decided.
pub(super) fn write(headers: &mut HeaderMap, told: &Told<'_>, now: impl FnOnce() -> Time) {
    headers.reserve(USUAL);
    let mut line = String::with_capacity(USUAL_LENGTH);
    told.each(told.time(now), &mut line, |header, value| {
        // Digits and names that were looked at before are always a valid value.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name(header), value);
        }
    });
}

/// What HTTP calls a header. Made beforehand: a name is not read again with every answer.
const fn name(header: Header) -> HeaderName {
    use Spelling::{Dashed, Plain};
    macro_rules! named {
        ($header:expr) => {
            const { HeaderName::from_static($header.as_str()) }
        };
    }
    match header {
        Header::Limit(Family::X(Plain)) => named!(Header::Limit(Family::X(Plain))),
        Header::Limit(Family::X(Dashed)) => named!(Header::Limit(Family::X(Dashed))),
        Header::Limit(Family::Legacy) => named!(Header::Limit(Family::Legacy)),
        Header::Remaining(Family::X(Plain)) => named!(Header::Remaining(Family::X(Plain))),
        Header::Remaining(Family::X(Dashed)) => named!(Header::Remaining(Family::X(Dashed))),
        Header::Remaining(Family::Legacy) => named!(Header::Remaining(Family::Legacy)),
        Header::Reset(Family::X(Plain)) => named!(Header::Reset(Family::X(Plain))),
        Header::Reset(Family::X(Dashed)) => named!(Header::Reset(Family::X(Dashed))),
        Header::Reset(Family::Legacy) => named!(Header::Reset(Family::Legacy)),
        Header::Cost(Plain) => named!(Header::Cost(Plain)),
        Header::Cost(Dashed) => named!(Header::Cost(Dashed)),
        Header::Tier(Plain) => named!(Header::Tier(Plain)),
        Header::Tier(Dashed) => named!(Header::Tier(Dashed)),
        Header::UpgradeUrl(Plain) => named!(Header::UpgradeUrl(Plain)),
        Header::UpgradeUrl(Dashed) => named!(Header::UpgradeUrl(Dashed)),
        Header::RateLimitPolicy => named!(Header::RateLimitPolicy),
        Header::RateLimit => named!(Header::RateLimit),
        Header::RetryAfter => RETRY_AFTER,
        Header::CacheControl => CACHE_CONTROL,
        Header::WwwAuthenticate => WWW_AUTHENTICATE,
    }
}
