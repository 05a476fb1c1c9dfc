//! Inserts the rate-limit headers into a `HeaderMap`.

use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use sluicegate::Time;

use super::RateLimitInfo;
use crate::header::{Family, Header, Spelling};

/// More headers than a response usually has, so that the map is allocated once.
const USUAL_HEADERS: usize = 12;
/// Longer than the longest value usually is.
const USUAL_LENGTH: usize = 192;

impl RateLimitInfo<'_> {
    /// Inserts the headers; `now` is called only if a setting needs the time.
    pub fn insert_headers(&self, headers: &mut HeaderMap, now: impl FnOnce() -> Time) {
        headers.reserve(USUAL_HEADERS);
        let mut line = String::with_capacity(USUAL_LENGTH);
        self.for_each_header(self.time(now), &mut line, |header, value| {
            // Always a valid value: it consists of digits and validated names.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name(header), value);
            }
        });
    }
}

/// Returns the name of a header.
///
/// The names are constants, so that no response parses one.
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
