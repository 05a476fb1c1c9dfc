//! Entries that are missing in a trace: how many, and of which time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// Entries that are missing and have not been told of yet; and how many there were at all.
#[derive(Debug, Default)]
pub(super) struct Lost {
    untold: Mutex<Option<Gap>>,
    total: AtomicU64,
}

/// A line of a trace: so many entries of this time are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename = "gap")]
pub(super) struct Gap {
    pub(super) lost: u64,
    pub(super) from_us: u64,
    pub(super) until_us: u64,
}

impl Lost {
    /// One more, of a moment between these two.
    pub(super) fn add(&self, from: u64, until: u64) {
        self.total.fetch_add(1, Ordering::Relaxed);
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        let gap = untold.get_or_insert(Gap { lost: 0, from_us: from, until_us: until });
        gap.lost += 1;
        gap.from_us = gap.from_us.min(from);
        gap.until_us = gap.until_us.max(until);
    }

    /// What has not been told yet, which is now.
    pub(super) fn take(&self) -> Option<Gap> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}
