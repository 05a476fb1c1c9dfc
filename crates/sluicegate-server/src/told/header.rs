//! The headers there are, and what they are called.

use sluicegate_rules::HeaderNames;

/// A header that callers are told something in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// The most units of the strictest limit.
    Limit(Family),
    /// How many of them are left.
    Remaining(Family),
    /// When they are all there again.
    Reset(Family),
    /// What the request costs, if that is not 1.
    Cost(Spelling),
    /// The caller's tier.
    Tier(Spelling),
    /// Where more is to be had.
    UpgradeUrl(Spelling),
    /// Every limit that was met.
    RateLimitPolicy,
    /// How the caller stands with each.
    RateLimit,
    /// When to come back.
    RetryAfter,
    /// That nobody keeps a refusal.
    CacheControl,
    /// Who is asking would have to be said.
    WwwAuthenticate,
}

/// What the headers about the strictest limit begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `x-ratelimit-` or `x-rate-limit-`.
    X(Spelling),
    /// `ratelimit-`.
    Legacy,
}

/// One word or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `x-ratelimit-`
    Plain,
    /// `x-rate-limit-`
    Dashed,
}

impl Family {
    /// What a rule file asks for, if it wants any.
    pub(super) const fn of(names: HeaderNames) -> Option<Self> {
        match names {
            HeaderNames::XRateLimit => Some(Self::X(Spelling::Plain)),
            HeaderNames::XRateLimitDashed => Some(Self::X(Spelling::Dashed)),
            HeaderNames::Legacy => Some(Self::Legacy),
            HeaderNames::Off => None,
        }
    }

    /// How those are spelt that no draft ever had.
    pub(super) const fn spelling(self) -> Spelling {
        match self {
            Self::X(spelling) => spelling,
            Self::Legacy => Spelling::Plain,
        }
    }
}

impl Header {
    /// Its name, in lower case.
    pub(crate) const fn as_str(self) -> &'static str {
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
