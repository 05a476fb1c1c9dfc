//! How much a counter matters.

use sluicegate_core::Time;

use super::records::Records;
use super::word::{Epoch, Word};

/// Weighs counters at one moment.
///
/// What has recovered weighs nothing: it is as good as none. Otherwise a counter weighs the share
/// of its capacity that is used, whatever its period: forgetting it would hand out that share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scales<'s> {
    now: Time,
    /// The payload of a word for that moment.
    reached: u64,
    records: &'s Records,
}

impl<'s> Scales<'s> {
    pub(super) fn new(now: Time, epoch: Epoch, records: &'s Records) -> Self {
        Self { now, reached: epoch.reached(now), records }
    }

    /// Whether it can be seen in the word that the counter has recovered.
    pub(super) fn is_free(&self, word: Word) -> bool {
        word.share_used(self.reached) == Some(0)
    }

    /// The share used.
    pub(super) fn share(&self, word: Word) -> u16 {
        let record = || word.record().map_or(0, |record| self.records.share(record, self.now));
        word.share_used(self.reached).unwrap_or_else(record)
    }
}
