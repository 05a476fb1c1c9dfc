//! The response headers for rate limits, and their names.

use sluicegate_rules::HeaderNames;

/// A header of a response to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitHeader {
    /// The capacity of the strictest limit.
    Limit(Family),
    /// The units left of it.
    Remaining(Family),
    /// The time until it has recovered fully.
    Reset(Family),
    /// The cost of the request, if it is not 1.
    Cost(Spelling),
    /// The caller's tier.
    Tier(Spelling),
    /// The page that offers higher limits.
    UpgradeUrl(Spelling),
    /// The quota of every limit that applied.
    RateLimitPolicy,
    /// The remaining units of every limit that applied.
    RateLimit,
    /// The time to wait before a retry.
    RetryAfter,
    /// Keeps caches from storing a refusal.
    CacheControl,
    /// The identity that the request lacks.
    WwwAuthenticate,
}

/// The common prefix of the headers about the strictest limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `x-ratelimit-` or `x-rate-limit-`.
    X(Spelling),
    /// `ratelimit-`.
    Legacy,
}

/// The spelling of `ratelimit`: one word or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `x-ratelimit-`
    Plain,
    /// `x-rate-limit-`
    Dashed,
}

impl Family {
    /// Returns the family that a rule file selects, unless it is `off`.
    pub(crate) const fn of(names: HeaderNames) -> Option<Self> {
        match names {
            HeaderNames::XRateLimit => Some(Self::X(Spelling::Plain)),
            HeaderNames::XRateLimitDashed => Some(Self::X(Spelling::Dashed)),
            HeaderNames::Legacy => Some(Self::Legacy),
            HeaderNames::Off => None,
        }
    }

    /// Returns the spelling of the headers that no draft defines.
    pub(crate) const fn spelling(self) -> Spelling {
        match self {
            Self::X(spelling) => spelling,
            Self::Legacy => Spelling::Plain,
        }
    }
}

impl RateLimitHeader {
    /// Returns its name, in lower case.
    pub const fn as_str(self) -> &'static str {
        use Spelling::{Dashed, Plain};
        match self {
            Self::Limit(Family::X(Plain)) => "x-ratelimit-limit",
            Self::Limit(Family::X(Dashed)) => "x-rate-limit-limit",
            Self::Limit(Family::Legacy) => "ratelimit-limit",
            Self::Remaining(Family::X(Plain)) => "x-ratelimit-remaining",
            Self::Remaining(Family::X(Dashed)) => "x-rate-limit-remaining",
            Self::Remaining(Family::Legacy) => "ratelimit-remaining",
            Self::Reset(Family::X(Plain)) => "x-ratelimit-reset",
            Self::Reset(Family::X(Dashed)) => "x-rate-limit-reset",
            Self::Reset(Family::Legacy) => "ratelimit-reset",
            Self::Cost(Plain) => "x-ratelimit-cost",
            Self::Cost(Dashed) => "x-rate-limit-cost",
            Self::Tier(Plain) => "x-ratelimit-tier",
            Self::Tier(Dashed) => "x-rate-limit-tier",
            Self::UpgradeUrl(Plain) => "x-ratelimit-upgrade-url",
            Self::UpgradeUrl(Dashed) => "x-rate-limit-upgrade-url",
            Self::RateLimitPolicy => "ratelimit-policy",
            Self::RateLimit => "ratelimit",
            Self::RetryAfter => "retry-after",
            Self::CacheControl => "cache-control",
            Self::WwwAuthenticate => "www-authenticate",
        }
    }
}
