//! The names of the response headers for rate limits.

use http::HeaderName;
use sluicegate_rules::HeaderNames;

/// The headers that no draft defines, in one spelling.
#[derive(Debug)]
pub(crate) struct HeaderFamily {
    /// The capacity of the strictest limit.
    pub(crate) limit: HeaderName,
    /// The units left of it.
    pub(crate) remaining: HeaderName,
    /// The time until it has recovered fully.
    pub(crate) reset: HeaderName,
    /// The cost of the request, if it is not 1.
    pub(crate) cost: HeaderName,
    /// The caller's tier.
    pub(crate) tier: HeaderName,
    /// The page that offers higher limits.
    pub(crate) upgrade_url: HeaderName,
}

/// The quota of every limit that applied.
pub(crate) static RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The remaining units of every limit that applied.
pub(crate) static RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

static PLAIN: HeaderFamily = HeaderFamily {
    limit: HeaderName::from_static("x-ratelimit-limit"),
    remaining: HeaderName::from_static("x-ratelimit-remaining"),
    reset: HeaderName::from_static("x-ratelimit-reset"),
    cost: HeaderName::from_static("x-ratelimit-cost"),
    tier: HeaderName::from_static("x-ratelimit-tier"),
    upgrade_url: HeaderName::from_static("x-ratelimit-upgrade-url"),
};
static DASHED: HeaderFamily = HeaderFamily {
    limit: HeaderName::from_static("x-rate-limit-limit"),
    remaining: HeaderName::from_static("x-rate-limit-remaining"),
    reset: HeaderName::from_static("x-rate-limit-reset"),
    cost: HeaderName::from_static("x-rate-limit-cost"),
    tier: HeaderName::from_static("x-rate-limit-tier"),
    upgrade_url: HeaderName::from_static("x-rate-limit-upgrade-url"),
};
static LEGACY: HeaderFamily = HeaderFamily {
    limit: HeaderName::from_static("ratelimit-limit"),
    remaining: HeaderName::from_static("ratelimit-remaining"),
    reset: HeaderName::from_static("ratelimit-reset"),
    cost: HeaderName::from_static("x-ratelimit-cost"),
    tier: HeaderName::from_static("x-ratelimit-tier"),
    upgrade_url: HeaderName::from_static("x-ratelimit-upgrade-url"),
};

impl HeaderFamily {
    /// Returns the family that a rule file selects, unless it is `off`.
    pub(crate) fn of(names: HeaderNames) -> Option<&'static Self> {
        match names {
            HeaderNames::XRateLimit => Some(&PLAIN),
            HeaderNames::XRateLimitDashed => Some(&DASHED),
            HeaderNames::Legacy => Some(&LEGACY),
            HeaderNames::Off => None,
        }
    }
}
