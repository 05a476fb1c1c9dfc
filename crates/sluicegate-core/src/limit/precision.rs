//! Exactness of a quota, and the nearest exact one.

use super::Limit;
use super::error::Reason;
use crate::algorithm::bucket::Bucket;
use crate::exact_time::{EmissionInterval, ExactTime};
use crate::quota::{Per, Quota};
use crate::time::Span;

/// The largest product of units and parts of a microsecond in bucket arithmetic.
///
/// Exact, with room for a debt of one burst.
const MAX_PARTS: u64 = 1 << 52;

impl Limit {
    pub(super) fn bucket(quota: Quota) -> Result<Bucket, Reason> {
        match quota.burst().unwrap_or(quota.amount()) {
            0 => Err(Reason::ZeroBurst),
            capacity => Self::bucket_of(quota, capacity),
        }
    }

    /// Creates the bucket of a queue, with one place more than the number that may wait.
    pub(super) fn queue_of(quota: Quota) -> Result<Bucket, Reason> {
        Self::bucket_of(quota, quota.burst().unwrap_or(quota.amount()) + 1)
    }

    fn bucket_of(quota: Quota, capacity: u64) -> Result<Bucket, Reason> {
        let period = Self::fixed_length(quota)?;
        let interval = EmissionInterval::new(quota.amount(), period);
        if !Self::is_exact(interval, capacity) {
            return Err(Reason::BucketNotExact {
                quota,
                largest_burst: MAX_PARTS / interval.parts(),
                rounder_amount: Self::rounder_amount(quota.amount(), period, capacity),
            });
        }
        let full = interval.lasting::<true>(capacity);
        if full > ExactTime::lasting(Span::MAX) {
            return Err(Reason::RecoveryTooLong {
                capacity,
                largest_burst: interval.units_in::<true>(ExactTime::lasting(Span::MAX)),
            });
        }
        Ok(Bucket::new(interval, capacity))
    }

    fn is_exact(interval: EmissionInterval, capacity: u64) -> bool {
        capacity.checked_mul(interval.parts()).is_some_and(|parts| parts <= MAX_PARTS)
    }

    /// Returns the nearest amount, in round decimal steps, that shares enough factors with the
    /// period.
    fn rounder_amount(amount: u64, period: Span, capacity: u64) -> Option<u64> {
        core::iter::successors(Some(10_u64), |step| step.checked_mul(10))
            .map_while(|step| {
                let down = amount / step * step;
                let up = down.checked_add(step)?;
                let nearest = if amount - down <= up - amount { down } else { up };
                (nearest > 0).then_some(nearest)
            })
            .find(|nearest| {
                *nearest <= Quota::MAX_AMOUNT
                    && Self::is_exact(
                        EmissionInterval::new(*nearest, period),
                        capacity.max(*nearest),
                    )
            })
    }

    pub(super) fn window_amount(quota: Quota) -> Result<u64, Reason> {
        match quota.burst() {
            Some(burst) => Err(Reason::BurstOnWindow { burst }),
            None => Ok(quota.amount()),
        }
    }

    pub(super) fn fixed_length(quota: Quota) -> Result<Span, Reason> {
        match quota.per() {
            Per::Span(span) => Ok(span),
            Per::Months(months) => Err(Reason::Months { months, amount: quota.amount() }),
        }
    }

    pub(super) fn check_span(what: &'static str, span: Span) -> Result<(), Reason> {
        if span.is_zero() || span > Span::MAX {
            return Err(Reason::SpanOutOfRange { what, found: span });
        }
        Ok(())
    }
}
