//! Decides a set on the words it read, and writes if they are unchanged.

use sluicegate_core::{Decision, Set, State, Time, decide};
use smallvec::SmallVec;

use super::{Attempt, LockedCells, Reservations, SetCells, USUAL};
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::table::FoundCell;
use crate::memory::word::{LimitTag, Word};
use crate::store::Applied;

/// The optimistic strategy: decide on the words read, then lock and write if unchanged.
pub(super) struct Optimistic<'a, 's, C> {
    pub(super) store: &'s Memory<C>,
    pub(super) set: &'a Set<'a>,
    pub(super) names: &'a SetCells,
    pub(super) may_evict: bool,
}

impl<'s, C: Clock> Optimistic<'_, 's, C> {
    pub(super) fn attempt(&self, decisions: &mut [Option<Decision>]) -> Attempt {
        let Self { store, set, names, .. } = self;
        let found: SmallVec<[Option<FoundCell<'s>>; USUAL]> =
            names.all.iter().map(|name| store.table.find(*name)).collect();
        let word = |found: &Option<FoundCell<'_>>| found.map_or(Word::EMPTY, |found| found.word);
        if found.iter().any(|found| !word(found).is_ready()) {
            return Attempt::Lock;
        }
        let mut states: SmallVec<[State; USUAL]> =
            found.iter().map(|found| word(found).state(store.epoch)).collect();
        let now = store.clock.now();
        let ruling = decide(set, now, &names.places, &mut states, decisions);
        let applied = Applied::by_store(ruling, now);
        let mut after: SmallVec<[Word; USUAL]> = SmallVec::new();
        for (found, state) in found.iter().zip(&states) {
            match word(found).with_state(state, store.epoch) {
                Some(word) => after.push(word),
                None => return Attempt::Lock,
            }
        }
        if found.iter().zip(&after).all(|(found, after)| word(found) == *after) {
            let unchanged = names.all.iter().zip(&found).all(|(name, found)| match found {
                Some(found) => found.cell.word() == found.word,
                None => store.table.insert_slot(*name).find().is_none(),
            });
            return if unchanged { Attempt::Decided(applied) } else { Attempt::Again };
        }
        match self.write(&found, &after, now) {
            Ok(()) => Attempt::Decided(applied),
            Err(attempt) => attempt,
        }
    }

    fn write(
        &self,
        found: &[Option<FoundCell<'s>>],
        after: &[Word],
        now: Time,
    ) -> Result<(), Attempt> {
        let Self { store, set, names, may_evict } = self;
        let mut locked = LockedCells { cells: SmallVec::new() };
        for index in &names.order {
            let Some(found) = found[*index] else { continue };
            if !found.cell.lock(found.word) {
                return Err(Attempt::Again);
            }
            locked.cells.push(found);
        }
        let new_keys = found.iter().zip(after).enumerate();
        let new_keys = new_keys
            .filter(|(_, (found, _))| found.is_none())
            .map(|(index, (_, after))| (index, *after != Word::EMPTY));
        let claims = Reservations::all(store, set, names, new_keys, now, *may_evict)?;
        for (index, found) in found.iter().enumerate() {
            if let Some(found) = found {
                found.cell.unlock(after[index]);
            }
        }
        locked.cells.clear();
        claims.fill(|index| after[index].with_limit_tag(LimitTag::of(names.limit(set, index))));
        Ok(())
    }
}
