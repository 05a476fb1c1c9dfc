//! Limits for quotas that requests bring along, in any protocol.

use sluicegate::{Algorithm, Limit, LimitError, Quota, Slices};

/// Returns the limit for a quota of a request.
///
/// It has no debt, because such a charge is never settled afterwards.
pub(crate) fn limit(
    algorithm: Algorithm,
    quota: Quota,
    slices: Slices,
) -> Result<Limit, LimitError> {
    Limit::new(limit_name(algorithm), algorithm.by(quota).with_slices(slices).without_debt())
}

/// Returns the name of the limit.
///
/// Counters are filed under it, so that one key has a counter for each algorithm. It is a constant,
/// so that no request formats it.
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
    fn every_algorithm_has_its_own_counters() {
        for algorithm in Algorithm::ALL {
            let limit = limit(algorithm, "10/min".parse().unwrap(), Slices::Weighted(1)).unwrap();
            assert_eq!(limit.algorithm(), algorithm.as_str());
            assert_eq!(limit.name(), format!("throttle:{}", algorithm.as_str()));
        }
    }
}
