//! Keys that are not there yet: what they are told, and where their counters come to lie.

use sluicegate_core::{Decision, Set, Time, decide_alone};

use super::Memory;
use super::divide::Divided;
use super::hash::Fingerprint;
use super::sync::Relaxed;
use super::table::{Claimed, Table};
use super::word::{Mark, Word};
use crate::clock::Clock;
use crate::store::Applied;

/// Why a newcomer has no cell.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) enum Obstacle {
    /// Somebody else was quicker somewhere: look again.
    Raced,
    /// Its page is full.
    Full { page: usize },
}

impl<C: Clock> Memory<C> {
    /// Decides a take on one bucket that was not found, and gives it a cell. `None` if that needs more
    /// than a glance: nothing to remember, no room, or somebody was quicker.
    #[inline(never)]
    pub(super) fn decide_newcomer(
        &self,
        set: &Set<'_>,
        name: Fingerprint,
    ) -> Option<(Applied, Decision)> {
        let [check] = set.checks() else { return None };
        let now = self.clock.now();
        // Full since ever, as all are that nobody has asked yet.
        let alone = decide_alone(set, now, Time::EPOCH)?;
        if alone.full_at == Time::EPOCH {
            return None;
        }
        let mark = Mark::of(check.limit());
        let word = Word::EMPTY.with_full_at(alone.full_at, self.epoch)?.marked(mark);
        self.claim(name, mark, now, false).ok()?.fill(word);
        Some((Applied::by_store(alone.ruling, now), alone.decision))
    }

    /// A cell for a key that is not there. Whoever was in it and still mattered is forgotten only
    /// if `may_forget`.
    pub(super) fn claim(
        &self,
        name: Fingerprint,
        mark: Mark,
        now: Time,
        may_forget: bool,
    ) -> Result<Claimed<'_>, Obstacle> {
        let scales = self.scales(now);
        let door = self.table.door_or_way_out(name).ok_or(Obstacle::Raced)?;
        if door.find().is_some() {
            return Err(Obstacle::Raced);
        }
        let claimed = match door.claim(&scales) {
            Some(claimed) => claimed,
            None if !may_forget && self.may_grow() => {
                return Err(Obstacle::Full { page: door.number });
            }
            None => {
                let claimed = door.claim_by_forgetting(mark, &scales).ok_or(Obstacle::Raced)?;
                self.forgotten.fetch_add(1, Relaxed);
                claimed
            }
        };
        if let Some(record) = claimed.before.record() {
            self.records.free(record);
        }
        Ok(claimed)
    }

    /// Makes room in a page that is full; whether there is.
    #[cold]
    pub(super) fn grow(&self, page: usize, name: Fingerprint, now: Time) -> bool {
        let lose = |word| self.lose(word);
        self.table.divide(page, name, &self.scales(now), || self.may_grow(), lose) == Divided::Yes
    }

    fn may_grow(&self) -> bool {
        self.table.bytes() + Table::BYTES_PER_PAGE <= self.table.max_bytes()
            && self.bytes() + Table::BYTES_PER_PAGE <= self.max_bytes
    }
}
