//! The algorithms that need only a quota, by name.

use std::borrow::Cow;

use sluicegate::{Limit, LimitError, Quota, Slices};

/// An algorithm that needs only a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlgorithmName {
    /// A bucket that refills continuously.
    #[default]
    TokenBucket,
    /// A token bucket presented as a level that drains.
    LeakyBucket,
    /// A leaky bucket that delays requests.
    Queue,
    /// A count per calendar period.
    FixedWindow,
    /// A window that moves with time.
    SlidingWindow,
    /// A log of every admission.
    SlidingLog,
}

impl AlgorithmName {
    /// All algorithms.
    pub const ALL: [Self; 6] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::Queue,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingLog,
    ];

    /// The algorithm with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }

    /// The name, as used in rule files and requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::Queue => "queue",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog => "sliding_log",
        }
    }

    /// Creates a limit; `slices` is used for sliding windows only.
    pub fn limit(
        self,
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
        slices: Slices,
    ) -> Result<Limit, LimitError> {
        match self {
            Self::TokenBucket => Limit::token_bucket(name, quota),
            Self::LeakyBucket => Limit::leaky_bucket(name, quota),
            Self::Queue => Limit::queue(name, quota),
            Self::FixedWindow => Limit::fixed_window(name, quota),
            Self::SlidingWindow => Limit::sliding_window(name, quota, slices),
            Self::SlidingLog => Limit::sliding_log(name, quota),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_found_by_its_name_and_makes_its_limit() {
        for algorithm in AlgorithmName::ALL {
            assert_eq!(AlgorithmName::named(algorithm.as_str()), Some(algorithm));
            let quota = "10/min".parse().unwrap();
            let limit = algorithm.limit("api", quota, Slices::Weighted(1)).unwrap();
            assert_eq!(limit.algorithm(), algorithm.as_str());
        }
        assert_eq!(AlgorithmName::named("concurrency"), None);
    }
}
