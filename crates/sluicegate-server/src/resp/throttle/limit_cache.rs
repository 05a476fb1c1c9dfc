//! A cache of parsed quotas, because clients repeat a few of them.

use sluicegate::{Algorithm, Limit, Quota, Slices, Span};

use super::error::ThrottleArgumentError;
use crate::inline_limit;

/// The number of slots.
const SLOTS: usize = 64;

/// The quota of a `CL.THROTTLE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellQuota {
    /// The units that may be taken at once, less one …
    pub(super) max_burst: i64,
    /// … the units that refill …
    pub(super) count: i64,
    /// … in this number of seconds.
    pub(super) period: i64,
}

/// Limits, each in the one slot that the hash of its quota selects.
#[derive(Debug)]
pub(super) struct LimitCache {
    entries: Vec<Option<(CellQuota, Limit)>>,
    /// The slots that queued commands refer to, as bits.
    used: u64,
}

/// The slot of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheSlot(u8);

/// The reason that a limit has no slot.
#[derive(Debug)]
pub(super) enum CacheError {
    /// The slot has another limit that is still used.
    Occupied,
    /// The quota is invalid.
    Invalid(ThrottleArgumentError),
}

impl Default for LimitCache {
    fn default() -> Self {
        Self { entries: vec![None; SLOTS], used: 0 }
    }
}

impl LimitCache {
    /// Returns the slot of a quota's limit, which stays there until [`release`](Self::release).
    #[inline]
    pub(super) fn insert(&mut self, quota: CellQuota) -> Result<CacheSlot, CacheError> {
        let slot = quota.slot();
        let used = 1 << slot.0;
        match self.entries.get(usize::from(slot.0)) {
            Some(Some((other, _))) if *other == quota => {}
            _ if self.used & used != 0 => return Err(CacheError::Occupied),
            _ => self.store(slot, quota)?,
        }
        self.used |= used;
        Ok(slot)
    }

    /// Marks all slots as unused.
    pub(super) fn release(&mut self) {
        self.used = 0;
    }

    /// Returns the limit in a slot.
    #[inline]
    pub(super) fn at(&self, slot: CacheSlot) -> Option<&Limit> {
        self.entries.get(usize::from(slot.0))?.as_ref().map(|(_, limit)| limit)
    }

    #[cold]
    fn store(&mut self, slot: CacheSlot, quota: CellQuota) -> Result<(), CacheError> {
        let limit = quota.limit().map_err(CacheError::Invalid)?;
        if let Some(entry) = self.entries.get_mut(usize::from(slot.0)) {
            *entry = Some((quota, limit));
        }
        Ok(())
    }
}

impl CellQuota {
    /// Returns one of 64 slots: the top six bits of a hash.
    #[inline]
    fn slot(self) -> CacheSlot {
        let mix = |hash: u64, number: i64| {
            (hash.rotate_left(23) ^ number.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let hash = [self.max_burst, self.count, self.period].into_iter().fold(0, mix);
        CacheSlot(u8::try_from(hash >> 58).unwrap_or_default())
    }

    fn limit(self) -> Result<Limit, ThrottleArgumentError> {
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
    fn a_used_slot_keeps_its_limit() {
        let mut limits = LimitCache::default();
        let first = quota(15, 30, 60);
        let slot = limits.insert(first).unwrap();
        let another =
            (1..10_000).map(|count| quota(0, count, 1)).find(|other| other.slot() == slot);
        let another = another.unwrap();
        assert!(matches!(limits.insert(another), Err(CacheError::Occupied)));
        assert_eq!(limits.at(slot).unwrap().capacity(), 16);
        limits.release();
        assert_eq!(limits.insert(another).unwrap(), slot);
        assert_eq!(limits.at(slot).unwrap().capacity(), 1);
        assert!(matches!(limits.insert(first), Err(CacheError::Occupied)));
    }

    #[test]
    fn quotas_spread_over_all_slots() {
        let slots = (1..1_000).map(|count| quota(count, count, 60).slot().0);
        let mut found = [0; SLOTS];
        slots.for_each(|slot| found[usize::from(slot)] += 1);
        assert!(found.iter().all(|times| (1..60).contains(times)), "{found:?}");
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
