//! Charges that this node admitted by itself, and that the store has yet to record.
//!
//! Each is recorded once: it is replayed before the next check of its counter, under an id that the
//! store remembers, and replayed again under the same id if its arrival is in doubt.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluicegate::next_set_id;
use sluicegate_core::{ChargeId, Receipt, Time};

use crate::script::Counter;

/// The most counters to keep, so that an outage cannot exhaust the memory.
const MAX_COUNTERS: usize = 1 << 16;

/// The charges that the store has yet to record.
#[derive(Debug, Default)]
pub(crate) struct PendingCharges {
    charges: Mutex<HashMap<Counter, PendingCharge>>,
    /// The number of charges, to be read without the lock: usually none.
    count: AtomicUsize,
}

#[derive(Debug)]
struct PendingCharge {
    /// Units that have not been sent yet.
    units: u64,
    /// Units that were sent, and may have arrived.
    in_flight: Option<ReplayedCharge>,
    /// When all units have refilled.
    until: Time,
}

/// Units that are being replayed to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayedCharge {
    pub(crate) receipt: Receipt,
    pub(crate) units: u64,
}

impl PendingCharges {
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(crate) fn contains(&self, counter: Counter) -> bool {
        !self.is_empty() && self.charges().contains_key(&counter)
    }

    /// Adds units that the node admitted by itself, and that refill by `until`.
    ///
    /// The server may have counted a request that it did not answer in time, or that no replica
    /// has confirmed. Its units are then counted twice, which admits less, and never more.
    pub(crate) fn add(&self, counter: Counter, units: u64, until: Time) {
        let mut charges = self.charges();
        if charges.len() >= MAX_COUNTERS && !charges.contains_key(&counter) {
            return;
        }
        let none = PendingCharge { units: 0, in_flight: None, until };
        let charge = charges.entry(counter).or_insert(none);
        charge.units = charge.units.saturating_add(units);
        charge.until = charge.until.max(until);
        self.count.store(charges.len(), Ordering::Release);
    }

    /// Drops charges whose units have refilled meanwhile.
    pub(crate) fn forget_recovered(&self, now: Time) {
        if !self.is_empty() {
            let mut charges = self.charges();
            charges.retain(|_, charge| charge.until > now);
            self.count.store(charges.len(), Ordering::Release);
        }
    }

    /// Returns the charge to replay before the next check of this counter: at most `most` units,
    /// because more cannot matter.
    pub(crate) fn replay(&self, counter: Counter, most: u64, now: Time) -> Option<ReplayedCharge> {
        let mut charges = self.charges();
        let charge = charges.get_mut(&counter)?;
        if charge.until <= now {
            charges.remove(&counter);
            self.count.store(charges.len(), Ordering::Release);
            return None;
        }
        if charge.in_flight.is_none() {
            let units = charge.units.min(most);
            if units == 0 {
                charges.remove(&counter);
                self.count.store(charges.len(), Ordering::Release);
                return None;
            }
            charge.units = 0;
            // The store remembers the receipt for as long as the charge is pending, and no longer.
            let receipt = Receipt::for_nothing(next_set_id(), charge.until);
            charge.in_flight = Some(ReplayedCharge { receipt, units });
        }
        charge.in_flight
    }

    /// Records that the store has received a charge.
    pub(crate) fn confirm(&self, counter: Counter, id: ChargeId) {
        let mut charges = self.charges();
        let Some(charge) = charges.get_mut(&counter) else { return };
        if charge.in_flight.is_some_and(|replayed| replayed.receipt.id() == id) {
            charge.in_flight = None;
            if charge.units == 0 {
                charges.remove(&counter);
                self.count.store(charges.len(), Ordering::Release);
            }
        }
    }

    fn charges(&self) -> MutexGuard<'_, HashMap<Counter, PendingCharge>> {
        self.charges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Counter = Counter::from_bits(7);

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[test]
    fn unconfirmed_charges_are_replayed_under_the_same_id_before_later_ones() {
        let pending = PendingCharges::default();
        assert!(pending.is_empty());
        pending.add(COUNTER, 3, at(100));
        let first = pending.replay(COUNTER, 10, at(1)).unwrap();
        assert_eq!(first.units, 3);
        pending.add(COUNTER, 2, at(200));
        assert_eq!(pending.replay(COUNTER, 10, at(3)), Some(first), "its arrival is not confirmed");
        pending.confirm(COUNTER, next_set_id());
        assert_eq!(pending.replay(COUNTER, 10, at(3)), Some(first), "another charge arrived");
        pending.confirm(COUNTER, first.receipt.id());
        let second = pending.replay(COUNTER, 10, at(4)).unwrap();
        assert_eq!(second.units, 2);
        assert_ne!(second.receipt.id(), first.receipt.id());
        pending.confirm(COUNTER, second.receipt.id());
        assert!(pending.is_empty() && pending.replay(COUNTER, 10, at(5)).is_none());
    }

    #[test]
    fn refilled_units_are_not_pending() {
        let pending = PendingCharges::default();
        pending.add(COUNTER, 3, at(100));
        assert_eq!(pending.replay(COUNTER, 10, at(100)), None, "all units have refilled");
        assert!(pending.is_empty());
        pending.add(COUNTER, 3, at(100));
        assert_eq!(pending.replay(COUNTER, 1, at(50)).unwrap().units, 1, "limited to most");
    }

    #[test]
    fn replayed_units_that_have_refilled_are_not_pending() {
        let pending = PendingCharges::default();
        pending.add(COUNTER, 90, at(100));
        assert!(pending.replay(COUNTER, 100, at(1)).is_some());
        assert_eq!(pending.replay(COUNTER, 0, at(101)), None, "its window has ended");
        pending.add(COUNTER, 90, at(100));
        pending.forget_recovered(at(99));
        assert!(!pending.is_empty());
        pending.forget_recovered(at(100));
        assert!(pending.is_empty());
    }
}
