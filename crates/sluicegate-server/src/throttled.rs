//! Quotas that come with their requests: the limits that they are, whichever protocol they came by.

use sluicegate::{Limit, LimitError, Quota, Slices};
use sluicegate_rules::Algorithm;

/// The limit for a quota that came with a request.
///
/// Without debt: what is throttled this way is never settled afterwards.
pub(crate) fn limit(
    algorithm: Algorithm,
    quota: Quota,
    slices: Slices,
) -> Result<Limit, LimitError> {
    algorithm.limit(limit_name(algorithm), quota, slices).map(Limit::without_debt)
}

/// What the limit is called. Counters are filed under it, so one key has a counter for each
/// algorithm; it is fixed text, so that no request pays for making it.
const fn limit_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::TokenBucket => "throttle:token_bucket",
        Algorithm::LeakyBucket => "throttle:leaky_bucket",
        Algorithm::Queue => "throttle:queue",
        Algorithm::FixedWindow => "throttle:fixed_window",
        Algorithm::SlidingWindow => "throttle:sliding_window",
        Algorithm::SlidingLog => "throttle:sliding_log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_counters_of_its_own() {
        for algorithm in Algorithm::ALL {
            let limit = limit(algorithm, "10/min".parse().unwrap(), Slices::Weighted(1)).unwrap();
            assert_eq!(limit.algorithm(), algorithm.as_str());
            assert_eq!(limit.name(), format!("throttle:{}", algorithm.as_str()));
        }
    }
}
