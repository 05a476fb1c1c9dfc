//! The entries missing in a trace: their number and times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// The missing entries that no gap line contains yet, and their total number.
#[derive(Debug, Default)]
pub(super) struct DroppedEntries {
    untold: Mutex<Option<Gap>>,
    total: AtomicU64,
}

/// A line of a trace for missing entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename = "gap")]
pub(super) struct Gap {
    pub(super) lost: u64,
    pub(super) from_us: u64,
    pub(super) until_us: u64,
}

impl DroppedEntries {
    /// Adds one with a time between these two.
    pub(super) fn add(&self, from: u64, until: u64) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = untold.get_or_insert(Gap { lost: 0, from_us: from, until_us: until });
        gap.lost += 1;
        gap.from_us = gap.from_us.min(from);
        gap.until_us = gap.until_us.max(until);
    }

    /// Returns the entries that no gap line contains yet.
    pub(super) fn take(&self) -> Option<Gap> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}
