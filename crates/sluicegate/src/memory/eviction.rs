//! The value of a counter for eviction.

use sluicegate_core::Time;

use super::overflow::OverflowArena;
use super::word::{Epoch, Word};

/// Weighs counters at one time.
///
/// A recovered counter weighs nothing, because it is equivalent to none. Otherwise a counter
/// weighs the used share of its capacity, independent of its period: evicting it would grant that
/// share again.
#[derive(Debug, Clone, Copy)]
pub(super) struct EvictionWeight<'s> {
    now: Time,
    /// The payload of a word for that time.
    reached: u64,
    records: &'s OverflowArena,
}

impl<'s> EvictionWeight<'s> {
    pub(super) fn new(now: Time, epoch: Epoch, records: &'s OverflowArena) -> Self {
        Self { now, reached: epoch.reached(now), records }
    }

    /// Returns whether the word alone shows that the counter has recovered.
    pub(super) fn is_free(&self, word: Word) -> bool {
        word.share_used(self.reached) == Some(0)
    }

    /// Returns the used share.
    pub(super) fn share(&self, word: Word) -> u16 {
        let record = || word.record().map_or(0, |record| self.records.share(record, self.now));
        word.share_used(self.reached).unwrap_or_else(record)
    }
}
