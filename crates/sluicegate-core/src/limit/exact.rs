//! Whether a quota can be counted exactly, and which nearby one can if not.

use super::Limit;
use super::error::Reason;
use crate::algorithm::bucket::Bucket;
use crate::moment::{Moment, Pace};
use crate::quota::{Per, Quota};
use crate::time::Span;

/// Bucket arithmetic multiplies units by parts of a microsecond; up to here it is exact, with
/// room for a debt of one burst.
const MAX_PARTS: u64 = 1 << 52;

impl Limit {
    pub(super) fn bucket(quota: Quota) -> Result<Bucket, Reason> {
        match quota.burst().unwrap_or(quota.amount()) {
            0 => Err(Reason::ZeroBurst),
            capacity => Self::bucket_of(quota, capacity),
        }
    }

    /// The bucket of a queue: it has one place more than may wait.
    pub(super) fn queue_of(quota: Quota) -> Result<Bucket, Reason> {
        Self::bucket_of(quota, quota.burst().unwrap_or(quota.amount()) + 1)
    }

    fn bucket_of(quota: Quota, capacity: u64) -> Result<Bucket, Reason> {
        let period = Self::fixed_length(quota)?;
        let pace = Pace::new(quota.amount(), period);
        if !Self::is_exact(pace, capacity) {
            return Err(Reason::BucketNotExact {
                quota,
                largest_burst: MAX_PARTS / pace.parts(),
                rounder_amount: Self::rounder_amount(quota.amount(), period, capacity),
            });
        }
        let full = pace.lasting::<true>(capacity);
        if full > Moment::lasting(Span::MAX) {
            return Err(Reason::RecoveryTooLong {
                capacity,
                largest_burst: pace.units_in::<true>(Moment::lasting(Span::MAX)),
            });
        }
        Ok(Bucket::new(pace, capacity))
    }

    fn is_exact(pace: Pace, capacity: u64) -> bool {
        capacity.checked_mul(pace.parts()).is_some_and(|parts| parts <= MAX_PARTS)
    }

    /// The nearest amount, in round decimal steps, that shares enough factors with the period.
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
                    && Self::is_exact(Pace::new(*nearest, period), capacity.max(*nearest))
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
