//! Inserts the rate-limit headers into a `HeaderMap`.

use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use sluicegate::Time;

use super::RateLimitInfo;
use crate::header::{Family, RateLimitHeader, Spelling};

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
const fn name(header: RateLimitHeader) -> HeaderName {
    use Spelling::{Dashed, Plain};
    macro_rules! named {
        ($header:expr) => {
            const { HeaderName::from_static($header.as_str()) }
        };
    }
    match header {
        RateLimitHeader::Limit(Family::X(Plain)) => {
            named!(RateLimitHeader::Limit(Family::X(Plain)))
        }
        RateLimitHeader::Limit(Family::X(Dashed)) => {
            named!(RateLimitHeader::Limit(Family::X(Dashed)))
        }
        RateLimitHeader::Limit(Family::Legacy) => named!(RateLimitHeader::Limit(Family::Legacy)),
        RateLimitHeader::Remaining(Family::X(Plain)) => {
            named!(RateLimitHeader::Remaining(Family::X(Plain)))
        }
        RateLimitHeader::Remaining(Family::X(Dashed)) => {
            named!(RateLimitHeader::Remaining(Family::X(Dashed)))
        }
        RateLimitHeader::Remaining(Family::Legacy) => {
            named!(RateLimitHeader::Remaining(Family::Legacy))
        }
        RateLimitHeader::Reset(Family::X(Plain)) => {
            named!(RateLimitHeader::Reset(Family::X(Plain)))
        }
        RateLimitHeader::Reset(Family::X(Dashed)) => {
            named!(RateLimitHeader::Reset(Family::X(Dashed)))
        }
        RateLimitHeader::Reset(Family::Legacy) => named!(RateLimitHeader::Reset(Family::Legacy)),
        RateLimitHeader::Cost(Plain) => named!(RateLimitHeader::Cost(Plain)),
        RateLimitHeader::Cost(Dashed) => named!(RateLimitHeader::Cost(Dashed)),
        RateLimitHeader::Tier(Plain) => named!(RateLimitHeader::Tier(Plain)),
        RateLimitHeader::Tier(Dashed) => named!(RateLimitHeader::Tier(Dashed)),
        RateLimitHeader::UpgradeUrl(Plain) => named!(RateLimitHeader::UpgradeUrl(Plain)),
        RateLimitHeader::UpgradeUrl(Dashed) => named!(RateLimitHeader::UpgradeUrl(Dashed)),
        RateLimitHeader::RateLimitPolicy => named!(RateLimitHeader::RateLimitPolicy),
        RateLimitHeader::RateLimit => named!(RateLimitHeader::RateLimit),
        RateLimitHeader::RetryAfter => RETRY_AFTER,
        RateLimitHeader::CacheControl => CACHE_CONTROL,
        RateLimitHeader::WwwAuthenticate => WWW_AUTHENTICATE,
    }
}
