//! Limits for quotas that requests bring along, in any protocol.

use sluicegate::{Limit, LimitError, Quota, Slices};
use sluicegate_rules::AlgorithmName;

/// Returns the limit for a quota of a request.
///
/// It has no debt, because such a charge is never settled afterwards.
pub(crate) fn limit(
    algorithm: AlgorithmName,
    quota: Quota,
    slices: Slices,
) -> Result<Limit, LimitError> {
    algorithm.limit(limit_name(algorithm), quota, slices).map(Limit::without_debt)
}

/// Returns the name of the limit.
///
/// Counters are filed under it, so that one key has a counter for each algorithm. It is a constant,
/// so that no request formats it.
const fn limit_name(algorithm: AlgorithmName) -> &'static str {
    match algorithm {
        AlgorithmName::TokenBucket => "throttle:token_bucket",
        AlgorithmName::LeakyBucket => "throttle:leaky_bucket",
        AlgorithmName::Queue => "throttle:queue",
        AlgorithmName::FixedWindow => "throttle:fixed_window",
        AlgorithmName::SlidingWindow => "throttle:sliding_window",
        AlgorithmName::SlidingLog => "throttle:sliding_log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_its_own_counters() {
        for algorithm in AlgorithmName::ALL {
            let limit = limit(algorithm, "10/min".parse().unwrap(), Slices::Weighted(1)).unwrap();
            assert_eq!(limit.algorithm(), algorithm.as_str());
            assert_eq!(limit.name(), format!("throttle:{}", algorithm.as_str()));
        }
    }
}
