//! The quota of a `CL.THROTTLE`, in numbers as redis-cell has them.

use sluicegate::{Algorithm, Limit, Quota, Slices, Span};

use super::error::ThrottleArgumentError;
use crate::inline_limit;

/// The quota of a `CL.THROTTLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CellQuota {
    /// The units that may be taken at once, less one …
    pub(super) max_burst: i64,
    /// … the units that refill …
    pub(super) count: i64,
    /// … in this number of seconds.
    pub(super) period: i64,
}

impl CellQuota {
    /// Returns the limit that counts it.
    pub(super) fn limit(self) -> Result<Limit, ThrottleArgumentError> {
        let Self { max_burst, count, period } = self;
        let positive = |number| u64::try_from(number).ok().filter(|number| *number > 0);
        let burst = u64::try_from(max_burst)
            .map_err(|_| ThrottleArgumentError::NegativeBurst(max_burst))?;
        let (Some(count), Some(period)) = (positive(count), positive(period)) else {
            let negative = [count, period].into_iter().find(|number| *number < 0);
            return Err(negative
                .map_or(ThrottleArgumentError::ZeroRate, ThrottleArgumentError::NegativeRate));
        };
        let quota = Quota::new(count, Span::from_secs(period));
        let quota = quota.and_then(|quota| quota.with_burst(burst.saturating_add(1)));
        let quota = quota.map_err(|error| ThrottleArgumentError::Quota(error.to_string()))?;
        inline_limit::limit(Algorithm::TokenBucket, quota, Slices::Weighted(1))
            // Only the reason, because the name of the limit is internal.
            .map_err(|error| ThrottleArgumentError::Quota(error.reason().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(max_burst: i64, count: i64, period: i64) -> CellQuota {
        CellQuota { max_burst, count, period }
    }

    #[test]
    fn invalid_quotas_have_an_error_message() {
        for (quota, expected) in [
            (quota(1, 0, 60), "Zero rates are not supported"),
            (quota(1, 1, 0), "Zero rates are not supported"),
            (quota(1, -1, 60), "found -1 as the count or period; use a whole number of at least 1"),
            (
                quota(1, 1, -60),
                "found -60 as the count or period; use a whole number of at least 1",
            ),
            (quota(-1, 1, 60), "max_burst is -1; use 0 (one at a time) or more"),
            (
                quota(1, 1, i64::MAX),
                "the period is too long to be counted exactly; use at most 35 years (12775 days)",
            ),
            (
                quota(i64::MAX, 1, 1),
                "9223372036854775808 is more than can be counted exactly; use at most 4503599627370496",
            ),
        ] {
            let error = quota.limit().unwrap_err();
            assert_eq!(error.to_string(), format!("Cell error: {expected}"), "{quota:?}");
        }
    }
}
