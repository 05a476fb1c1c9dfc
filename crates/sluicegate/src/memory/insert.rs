//! Insertion of keys that have no counter yet.

use sluicegate_core::{Decision, Set, Time, decide_buckets};

use super::Memory;
use super::fingerprint::Fingerprint;
use super::split::SplitOutcome;
use super::sync::Relaxed;
use super::table::{ClaimedCell, Table};
use super::word::{LimitTag, Word};
use crate::clock::Clock;
use crate::store::Applied;

/// The reason why a new key has no cell.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) enum InsertError {
    /// Another thread interfered: look again.
    Raced,
    /// The page is full.
    Full { page: usize },
}

impl<C: Clock> Memory<C> {
    /// Decides a take on one bucket that was not found, and inserts it.
    ///
    /// `None` if that needs the general path: nothing to store, no room, or another thread
    /// interfered.
    #[inline(never)]
    pub(super) fn insert_and_decide(
        &self,
        set: &Set<'_>,
        name: Fingerprint,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        let [check] = set.checks() else { return None };
        let now = self.clock.now();
        // Absent, thus full, as all buckets are initially.
        let mut full_at = [Time::EPOCH];
        let ruling = decide_buckets(set, now, &mut full_at, decisions)?;
        if full_at == [Time::EPOCH] {
            return None;
        }
        let limit_tag = LimitTag::of(check.limit());
        let word = Word::EMPTY.with_full_at(full_at[0], self.epoch)?.with_limit_tag(limit_tag);
        self.claim(name, limit_tag, now, false).ok()?.fill(word);
        Some(Applied::by_store(ruling, now))
    }

    /// Claims a cell for a key that has none.
    ///
    /// A counter that has not recovered is evicted only if `may_evict`.
    pub(super) fn claim(
        &self,
        name: Fingerprint,
        limit_tag: LimitTag,
        now: Time,
        may_evict: bool,
    ) -> Result<ClaimedCell<'_>, InsertError> {
        let weights = self.weights(now);
        let insert_slot = self.table.try_insert_slot(name).ok_or(InsertError::Raced)?;
        if insert_slot.find().is_some() {
            return Err(InsertError::Raced);
        }
        let claimed = match insert_slot.claim(&weights) {
            Some(claimed) => claimed,
            None if !may_evict && self.may_grow() => {
                return Err(InsertError::Full { page: insert_slot.number });
            }
            None => {
                let claimed =
                    insert_slot.claim_by_evicting(limit_tag, &weights).ok_or(InsertError::Raced)?;
                self.forgotten.fetch_add(1, Relaxed);
                claimed
            }
        };
        if let Some(record) = claimed.before.record() {
            self.records.free(record);
        }
        Ok(claimed)
    }

    /// Makes room in a full page; returns whether there is.
    #[cold]
    pub(super) fn split_page_of(&self, page: usize, name: Fingerprint, now: Time) -> bool {
        let count_evicted = |word| self.count_evicted(word);
        self.table.split_page(page, name, &self.weights(now), || self.may_grow(), count_evicted)
            == SplitOutcome::Yes
    }

    fn may_grow(&self) -> bool {
        self.table.bytes() + Table::BYTES_PER_PAGE <= self.table.max_bytes()
            && self.bytes() + Table::BYTES_PER_PAGE <= self.max_bytes
    }
}
