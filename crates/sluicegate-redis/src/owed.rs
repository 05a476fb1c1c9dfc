//! What this node admitted by itself, and the store has still to be told.
//!
//! Told once: each debt rides in front of the next check of its counter, under an id that the store
//! remembers, and rides again under that id if nobody knows whether it arrived.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluicegate::fresh_id;
use sluicegate_core::{Id, Receipt, Time};

use crate::twin::Counter;

/// The most counters that are remembered: an outage must not take memory without end.
const MOST: usize = 1 << 16;

/// What the store has still to be told.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    debts: Mutex<HashMap<Counter, Debt>>,
    /// How many there are, to be asked without the lock: usually none.
    count: AtomicUsize,
}

#[derive(Debug)]
struct Debt {
    /// Units that have not been on their way yet.
    units: u64,
    /// Units of requests that the store may have counted itself: it was asked, and did not answer.
    doubtful: u64,
    /// The link over which it was.
    link: u32,
    /// Units that may have arrived.
    riding: Option<Riding>,
    /// When they have all come back.
    until: Time,
}

/// Units on their way to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Riding {
    pub(crate) receipt: Receipt,
    pub(crate) units: u64,
}

impl Owed {
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(crate) fn owes(&self, counter: Counter) -> bool {
        !self.is_empty() && self.debts().contains_key(&counter)
    }

    /// The node has admitted units by itself, which come back by `until`; where the store was asked
    /// over a link and did not answer, it is doubtful whether it does not know.
    pub(crate) fn add(&self, counter: Counter, units: u64, until: Time, doubtful: Option<u32>) {
        let mut debts = self.debts();
        if debts.len() >= MOST && !debts.contains_key(&counter) {
            return;
        }
        let none = Debt { units: 0, doubtful: 0, link: 0, riding: None, until };
        let debt = debts.entry(counter).or_insert(none);
        match doubtful {
            None => debt.units = debt.units.saturating_add(units),
            Some(link) => {
                if debt.link != link {
                    // Nobody will clear up what was asked elsewhere.
                    let elsewhere = std::mem::take(&mut debt.doubtful);
                    debt.units = debt.units.saturating_add(elsewhere);
                }
                debt.link = link;
                debt.doubtful = debt.doubtful.saturating_add(units);
            }
        }
        debt.until = debt.until.max(until);
        self.count.store(debts.len(), Ordering::Release);
    }

    /// The store has answered what it was asked over a link before, or never will.
    pub(crate) fn clear_doubts(&self, link: u32, known: bool) {
        if self.is_empty() {
            return;
        }
        let mut debts = self.debts();
        debts.retain(|_, debt| {
            if debt.link != link {
                return true;
            }
            let doubtful = std::mem::take(&mut debt.doubtful);
            debt.units = debt.units.saturating_add(if known { 0 } else { doubtful });
            debt.units > 0 || debt.riding.is_some()
        });
        self.count.store(debts.len(), Ordering::Release);
    }

    /// What has come back meanwhile is owed to nobody.
    pub(crate) fn forget_recovered(&self, now: Time) {
        if !self.is_empty() {
            let mut debts = self.debts();
            debts.retain(|_, debt| debt.until > now);
            self.count.store(debts.len(), Ordering::Release);
        }
    }

    /// What is to ride in front of the next check of this counter: at most so many units, as no
    /// more can matter.
    pub(crate) fn ride(&self, counter: Counter, most: u64, now: Time) -> Option<Riding> {
        let mut debts = self.debts();
        let debt = debts.get_mut(&counter)?;
        if debt.until <= now {
            debts.remove(&counter);
            self.count.store(debts.len(), Ordering::Release);
            return None;
        }
        if debt.riding.is_none() {
            let units = debt.units.min(most);
            if units == 0 && debt.doubtful > 0 {
                return None;
            }
            if units == 0 {
                debts.remove(&counter);
                self.count.store(debts.len(), Ordering::Release);
                return None;
            }
            debt.units = 0;
            // The store remembers it for as long as it could be owed, and no longer.
            let receipt = Receipt::for_nothing(fresh_id(), debt.until);
            debt.riding = Some(Riding { receipt, units });
        }
        debt.riding
    }

    /// The store has been told.
    pub(crate) fn arrived(&self, counter: Counter, id: Id) {
        let mut debts = self.debts();
        let Some(debt) = debts.get_mut(&counter) else { return };
        if debt.riding.is_some_and(|riding| riding.receipt.id() == id) {
            debt.riding = None;
            if debt.units == 0 && debt.doubtful == 0 {
                debts.remove(&counter);
                self.count.store(debts.len(), Ordering::Release);
            }
        }
    }

    fn debts(&self) -> MutexGuard<'_, HashMap<Counter, Debt>> {
        self.debts.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn what_may_have_arrived_rides_again_under_its_id_and_the_rest_after_it() {
        let owed = Owed::default();
        assert!(owed.is_empty());
        owed.add(COUNTER, 3, at(100), None);
        let first = owed.ride(COUNTER, 10, at(1)).unwrap();
        assert_eq!(first.units, 3);
        owed.add(COUNTER, 2, at(200), None);
        assert_eq!(owed.ride(COUNTER, 10, at(3)), Some(first), "nobody said that it arrived");
        owed.arrived(COUNTER, fresh_id());
        assert_eq!(owed.ride(COUNTER, 10, at(3)), Some(first), "another one did");
        owed.arrived(COUNTER, first.receipt.id());
        let second = owed.ride(COUNTER, 10, at(4)).unwrap();
        assert_eq!(second.units, 2);
        assert_ne!(second.receipt.id(), first.receipt.id());
        owed.arrived(COUNTER, second.receipt.id());
        assert!(owed.is_empty() && owed.ride(COUNTER, 10, at(5)).is_none());
    }

    #[test]
    fn what_has_come_back_is_not_owed() {
        let owed = Owed::default();
        owed.add(COUNTER, 3, at(100), None);
        assert_eq!(owed.ride(COUNTER, 10, at(100)), None, "its time is over");
        assert!(owed.is_empty());
        owed.add(COUNTER, 3, at(100), None);
        assert_eq!(owed.ride(COUNTER, 1, at(50)).unwrap().units, 1, "of most it is");
    }

    #[test]
    fn what_was_riding_and_has_come_back_is_not_owed() {
        let owed = Owed::default();
        owed.add(COUNTER, 90, at(100), None);
        assert!(owed.ride(COUNTER, 100, at(1)).is_some());
        assert_eq!(owed.ride(COUNTER, 0, at(101)), None, "its window is over");
        owed.add(COUNTER, 90, at(100), None);
        owed.forget_recovered(at(99));
        assert!(!owed.is_empty());
        owed.forget_recovered(at(100));
        assert!(owed.is_empty());
    }

    #[test]
    fn what_the_store_counted_itself_is_not_charged_again() {
        let owed = Owed::default();
        owed.add(COUNTER, 3, at(100), Some(4));
        owed.add(COUNTER, 2, at(100), None);
        assert_eq!(owed.ride(COUNTER, 10, at(1)).unwrap().units, 2, "the rest is in doubt");
        owed.clear_doubts(4, true);
        let riding = owed.ride(COUNTER, 10, at(1)).unwrap();
        owed.arrived(COUNTER, riding.receipt.id());
        assert!(owed.is_empty(), "it knew the rest");
        owed.add(COUNTER, 3, at(100), Some(4));
        assert_eq!(owed.ride(COUNTER, 10, at(1)), None);
        assert!(owed.owes(COUNTER));
        owed.clear_doubts(5, false);
        assert_eq!(owed.ride(COUNTER, 10, at(1)), None, "another server is gone");
        owed.clear_doubts(4, false);
        assert_eq!(owed.ride(COUNTER, 10, at(1)).unwrap().units, 3, "it never will");
    }
}
