//! The algorithms a caller may choose by name when it brings its own quota.

use tollgate::{Limit, LimitError, Quota, Slices};

/// An algorithm that is made of a quota alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    TokenBucket,
    LeakyBucket,
    Queue,
    FixedWindow,
    SlidingWindow,
    SlidingLog,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 6] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::Queue,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingLog,
    ];

    /// The algorithm that goes by this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }

    /// Its name, as callers and rule files write it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::Queue => "queue",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog => "sliding_log",
        }
    }

    /// What its limit is called. Counters are filed under it, so one key has a counter for
    /// each algorithm; it is fixed text, so that no request pays for making it.
    const fn limit_name(self) -> &'static str {
        match self {
            Self::TokenBucket => "throttle:token_bucket",
            Self::LeakyBucket => "throttle:leaky_bucket",
            Self::Queue => "throttle:queue",
            Self::FixedWindow => "throttle:fixed_window",
            Self::SlidingWindow => "throttle:sliding_window",
            Self::SlidingLog => "throttle:sliding_log",
        }
    }

    /// The limit for a quota that came with a request; `slices` is for sliding windows.
    ///
    /// Without debt: what is throttled this way is never settled afterwards.
    pub(crate) fn limit(self, quota: Quota, slices: Slices) -> Result<Limit, LimitError> {
        let name = self.limit_name();
        let limit = match self {
            Self::TokenBucket => Limit::token_bucket(name, quota),
            Self::LeakyBucket => Limit::leaky_bucket(name, quota),
            Self::Queue => Limit::queue(name, quota),
            Self::FixedWindow => Limit::fixed_window(name, quota),
            Self::SlidingWindow => Limit::sliding_window(name, quota, slices),
            Self::SlidingLog => Limit::sliding_log(name, quota),
        };
        limit.map(Limit::without_debt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_counter_is_the_limits_own() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::named(algorithm.as_str()), Some(algorithm));
            let quota = "10/min".parse().unwrap();
            let limit = algorithm.limit(quota, Slices::Weighted(1)).unwrap();
            assert_eq!(limit.algorithm(), algorithm.as_str());
            assert_eq!(limit.name(), format!("throttle:{}", algorithm.as_str()));
        }
        assert_eq!(Algorithm::named("concurrency"), None);
    }
}
