//! The floor: the minimal work of any exact limiter in memory.
//!
//! A table of fixed size without locks: find the key's fingerprint or claim a slot for it, read
//! the clock, take one step of a bucket. It cannot grow, evict, distinguish colliding keys, or
//! decide anything but one unit of one limit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sluicegate::{Clock, SystemClock};

use crate::contender::Budget;
use crate::fingerprint::Fingerprint;

pub(crate) struct Floor<F> {
    fingerprint: F,
    slots: Box<[Slot]>,
    clock: SystemClock,
    /// Microseconds in which one unit recovers.
    unit: u64,
    /// Microseconds in which everything recovers.
    full: u64,
}

/// Aligned so that none lies across two cache lines.
#[repr(align(16))]
#[derive(Default)]
struct Slot {
    /// 0 in a free slot.
    fingerprint: AtomicU64,
    /// The time at which everything has recovered, in microseconds.
    full_at: AtomicU64,
}

impl<F: Fingerprint> Floor<F> {
    /// At most half full with this many keys.
    pub(crate) fn new(fingerprint: F, keys: usize, budget: Budget) -> Self {
        Self {
            fingerprint,
            slots: (0..(keys * 2).next_power_of_two()).map(|_| Slot::default()).collect(),
            clock: SystemClock::new(),
            unit: budget.unit,
            full: budget.unit * u64::from(budget.burst),
        }
    }

    /// Returns whether a unit was taken, and how many are left.
    #[inline]
    pub(crate) fn check(&self, key: &[u8]) -> (bool, u64) {
        let slot = self.slot(self.fingerprint.of(key).max(1));
        let now = self.clock.now().as_micros();
        let latest = now + self.full;
        let mut full_at = slot.full_at.load(Relaxed);
        loop {
            let taken = full_at.max(now) + self.unit;
            if taken > latest {
                return (false, latest.saturating_sub(full_at) / self.unit);
            }
            match slot.full_at.compare_exchange_weak(full_at, taken, Relaxed, Relaxed) {
                Ok(_) => return (true, (latest - taken) / self.unit),
                Err(seen) => full_at = seen,
            }
        }
    }

    #[inline]
    fn slot(&self, fingerprint: u64) -> &Slot {
        let mut index = fingerprint as usize;
        loop {
            let slot = &self.slots[index & (self.slots.len() - 1)];
            let found = match slot.fingerprint.load(Relaxed) {
                0 => Self::claim(slot, fingerprint),
                found => found,
            };
            if found == fingerprint {
                return slot;
            }
            index += 1;
        }
    }

    /// Claims an empty slot for the fingerprint; returns the fingerprint it has afterwards.
    #[cold]
    fn claim(slot: &Slot, fingerprint: u64) -> u64 {
        match slot.fingerprint.compare_exchange(0, fingerprint, Relaxed, Relaxed) {
            Ok(_) => fingerprint,
            Err(found) => found,
        }
    }
}
