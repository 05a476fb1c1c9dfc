//! The general way to decide a set: lock its cells, then decide and write.

use sluicegate_core::{Decision, Set, State, Time, decide};
use smallvec::SmallVec;

use super::{LockedCells, Reservations, SetAttempt, SetCells, USUAL};
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::sync::Backoff;
use crate::memory::table::FoundCell;
use crate::memory::word::Word;
use crate::store::Applied;

/// A set to decide with its cells locked.
pub(super) struct LockedSet<'a, 's, C> {
    pub(super) store: &'s Memory<C>,
    pub(super) set: &'a Set<'a>,
    pub(super) names: &'a SetCells,
    pub(super) may_evict: bool,
}

impl<'s, C: Clock> LockedSet<'_, 's, C> {
    pub(super) fn attempt(&self, decisions: &mut [Option<Decision>]) -> SetAttempt {
        let Self { store, set, names, may_evict } = *self;
        let Some(found) = self.lock_all() else { return SetAttempt::Again };
        // Read under the locks, so that time never goes back for a counter.
        let now = store.clock.now();
        let mut loan = TakenStates::new(self, found, now);
        let new_keys = loan.found.iter().any(Option::is_none);
        let kept = new_keys.then(|| loan.states.clone());
        let ruling = decide(set, now, names.cells.places(), &mut loan.states, decisions);
        if new_keys {
            let absent = loan.found.iter().zip(&loan.states).enumerate();
            let absent: SmallVec<[(usize, bool); USUAL]> = absent
                .filter(|(_, (found, _))| found.is_none())
                .map(|(index, (_, state))| (index, *state != State::Vacant))
                .collect();
            match Reservations::all(store, set, names, absent.into_iter(), now, may_evict) {
                Ok(claims) => claims.fill(|index| {
                    let (name, limit) = (names.cells.names()[index], names.limit(set, index));
                    let state = std::mem::take(&mut loan.states[index]);
                    store.file(name, Word::EMPTY, state, limit, now)
                }),
                Err(attempt) => {
                    loan.states = kept.unwrap_or_default();
                    return attempt;
                }
            }
        }
        drop(loan);
        store.enforce_bounds(now);
        SetAttempt::Decided(Applied::by_store(ruling, now))
    }

    /// Locks all existing counters in order; `None` if one is being moved to another page.
    fn lock_all(&self) -> Option<SmallVec<[Option<FoundCell<'s>>; USUAL]>> {
        let mut locked = LockedCells { cells: SmallVec::new() };
        let mut all: SmallVec<[Option<FoundCell<'s>>; USUAL]> = SmallVec::new();
        all.resize(self.names.cells.names().len(), None);
        for index in &self.names.order {
            let mut backoff = Backoff::default();
            while let Some(found) = self.store.table.find(self.names.cells.names()[*index]) {
                if found.word.is_moved() {
                    return None;
                }
                if found.cell.lock(found.word) {
                    locked.cells.push(found);
                    all[*index] = Some(found);
                    break;
                }
                backoff.wait();
            }
        }
        locked.cells.clear();
        Some(all)
    }
}

/// States taken out of their cells to be decided on.
///
/// Dropping it puts them back even if deciding panics, because a lost state would be a fresh
/// budget.
struct TakenStates<'l, 'a, 's, C: Clock> {
    by: &'l LockedSet<'a, 's, C>,
    found: SmallVec<[Option<FoundCell<'s>>; USUAL]>,
    states: SmallVec<[State; USUAL]>,
    now: Time,
}

impl<'l, 'a, 's, C: Clock> TakenStates<'l, 'a, 's, C> {
    fn new(
        by: &'l LockedSet<'a, 's, C>,
        found: SmallVec<[Option<FoundCell<'s>>; USUAL]>,
        now: Time,
    ) -> Self {
        let states = found.iter().map(|found| match found {
            None => State::Vacant,
            Some(found) => match found.word.record() {
                Some(record) => by.store.records.take(record),
                None => found.word.state(by.store.epoch),
            },
        });
        let states = states.collect();
        Self { by, found, states, now }
    }
}

impl<C: Clock> Drop for TakenStates<'_, '_, '_, C> {
    fn drop(&mut self) {
        let LockedSet { store, set, names, .. } = *self.by;
        for (index, found) in self.found.iter().enumerate() {
            let Some(found) = found else { continue };
            let state = std::mem::take(&mut self.states[index]);
            let limit = names.limit(set, index);
            let word = store.file(names.cells.names()[index], found.word, state, limit, self.now);
            found.cell.unlock(word);
        }
    }
}
