//! Application of a set to all of its counters at once.

mod locked;

use sluicegate_core::{CellRef, Decision, Limit, Set, State, Time, decide, decide_buckets};
use smallvec::SmallVec;

use self::locked::LockedSet;
use super::Memory;
use super::fingerprint::{Fingerprint, HashKey};
use super::insert::InsertError;
use super::overflow::OverflowState;
use super::sync::Backoff;
use super::table::{ClaimedCell, FoundCell};
use super::word::{LimitTag, Word};
use crate::cell_map::CellMap;
use crate::clock::Clock;
use crate::store::Applied;

/// More than in nearly all requests; beyond it, memory is allocated.
const USUAL: usize = 8;

/// Returns the order of the first `count` fingerprints; `None` if one occurs twice.
#[inline]
fn in_order<const N: usize>(names: &[Fingerprint; N], count: usize) -> Option<[usize; N]> {
    let mut order: [usize; N] = std::array::from_fn(|index| index);
    for next in 1..count {
        let mut at = next;
        while at > 0 && names[order[at - 1]] >= names[order[at]] {
            if names[order[at - 1]] == names[order[at]] {
                return None;
            }
            order.swap(at - 1, at);
            at -= 1;
        }
    }
    Some(order)
}

/// The distinct cells of a set.
struct SetCells {
    cells: CellMap<Fingerprint>,
    /// Their indices in locking order.
    order: SmallVec<[usize; USUAL]>,
}

impl SetCells {
    fn of(set: &Set<'_>, key: HashKey) -> Self {
        let cells = CellMap::of(set, |check| key.counter(check), |id, _| key.receipt(id));
        let mut order: SmallVec<[usize; USUAL]> = (0..cells.names().len()).collect();
        order.sort_unstable_by_key(|index| cells.names()[*index]);
        Self { cells, order }
    }

    /// Returns the limit of a counter.
    ///
    /// A stored settlement contains the time at which it recovers, so any limit will do for it.
    fn limit<'a>(&self, set: &Set<'a>, index: usize) -> &'a Limit {
        let met = self.cells.places().iter().position(|place| place.index() == index);
        set.checks()[met.unwrap_or(0)].limit()
    }
}

/// The outcome of an attempt to decide a set.
enum SetAttempt {
    Decided(Applied),
    /// Another thread interfered.
    Again,
    /// The page of a new key is full.
    Full {
        page: usize,
        name: Fingerprint,
        now: Time,
    },
}

impl<C: Clock> Memory<C> {
    /// Decides a few takes on existing buckets that fit their words, the most common sets.
    ///
    /// Decides on the words that it read, and writes if they are unchanged. `None` if the set is
    /// anything else, or another thread interfered.
    #[inline]
    pub(super) fn decide_words(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        match set.checks().len() {
            ..=4 => self.decide_few::<4>(set, decisions),
            5..=8 => self.decide_few::<8>(set, decisions),
            _ => None,
        }
    }

    #[inline]
    fn decide_few<const N: usize>(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        let count = set.checks().len();
        let mut names = [Fingerprint::new(0); N];
        let mut cells = [None; N];
        let mut words = [Word::EMPTY; N];
        let mut times = [Time::EPOCH; N];
        for (index, check) in set.checks().iter().enumerate() {
            if !check.takes_from_bucket() {
                return None;
            }
            names[index] = self.key.counter(check);
            let FoundCell { cell, word } = self.table.find(names[index])?;
            times[index] = word.full_at(self.epoch)?;
            (cells[index], words[index]) = (Some(cell), word);
        }
        let order = in_order(&names, count)?;
        let now = self.clock.now();
        let before = times;
        let ruling = decide_buckets(set, now, &mut times[..count], &mut decisions[..count])?;
        let applied = Applied::by_store(ruling, now);
        if times == before {
            let mut all = cells.iter().flatten().zip(words);
            return all.all(|(cell, word)| cell.word() == word).then_some(applied);
        }
        let mut after = words;
        for (index, after) in after[..count].iter_mut().enumerate() {
            if times[index] != before[index] {
                *after = after.with_full_at(times[index], self.epoch)?;
            }
        }
        for (locked, index) in order[..count].iter().enumerate() {
            if !cells[*index]?.lock(words[*index]) {
                for index in &order[..locked] {
                    cells[*index]?.unlock(words[*index]);
                }
                return None;
            }
        }
        for (cell, after) in cells.iter().flatten().zip(after) {
            cell.unlock(after);
        }
        Some(applied)
    }

    /// Decides one check whose counter exists and has a record.
    ///
    /// `None` if the set is anything else, or another thread interfered.
    pub(super) fn decide_recorded(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        let [check] = set.checks() else { return None };
        if check.settles().is_some() {
            return None;
        }
        let found = self.table.find(self.key.counter(check))?;
        let record = found.word.record()?;
        if !found.cell.lock(found.word) {
            return None;
        }
        // Dropping it unlocks the cell even if deciding panics.
        let mut locked = LockedCells { cells: SmallVec::new() };
        locked.cells.push(found);
        let ((applied, filed), grown) = self.records.change(record, |record| {
            // Read under the lock, so that time never goes back for a counter.
            let now = self.clock.now();
            let state = std::slice::from_mut(&mut record.state);
            let ruling = decide(set, now, &[CellRef::cell(0)], state, decisions);
            record.recovered_at = check.limit().recovered_at(&record.state);
            record.share = check.limit().share_used(&record.state, now);
            let filed = found.word.with_state(&record.state, self.epoch);
            (Applied::by_store(ruling, now), filed)
        })?;
        if let Some(filed) = filed {
            self.records.free(record);
            locked.cells.clear();
            found.cell.unlock(filed);
        }
        drop(locked);
        if grown {
            self.enforce_bounds(applied.now);
        }
        Some(applied)
    }

    /// Decides any set.
    #[inline(never)]
    pub(super) fn decide_set(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Applied {
        let names = SetCells::of(set, self.key);
        let mut backoff = Backoff::default();
        let mut may_evict = false;
        loop {
            match (LockedSet { store: self, set, names: &names, may_evict }).attempt(decisions) {
                SetAttempt::Decided(applied) => return applied,
                SetAttempt::Full { page, name, now } => {
                    may_evict = !self.split_page_of(page, name, now);
                }
                SetAttempt::Again => backoff.wait(),
            }
        }
    }

    /// Stores a changed state: in the word, else in a record.
    ///
    /// `taken` is the record that it came from.
    fn file(&self, name: Fingerprint, word: Word, state: State, limit: &Limit, now: Time) -> Word {
        let word = if word.is_vacant() { word.with_limit_tag(LimitTag::of(limit)) } else { word };
        if let Some(filed) = word.with_state(&state, self.epoch) {
            if let Some(record) = word.record() {
                self.records.free(record);
            }
            return filed;
        }
        let (recovered_at, share) = (limit.recovered_at(&state), limit.share_used(&state, now));
        let changed = OverflowState { owner: Some(name), state, recovered_at, share };
        match word.record() {
            Some(record) => {
                self.records.put(record, changed);
                word.unlocked()
            }
            None => word.with_record(self.records.keep(changed)),
        }
    }
}

/// Locked cells; those not written are unlocked unchanged.
struct LockedCells<'t> {
    cells: SmallVec<[FoundCell<'t>; USUAL]>,
}

impl Drop for LockedCells<'_> {
    fn drop(&mut self) {
        for FoundCell { cell, word } in &self.cells {
            cell.unlock(*word);
        }
    }
}

/// Cells locked for new keys; those not filled are left vacant.
struct Reservations<'t> {
    claims: SmallVec<[(usize, LimitTag, ClaimedCell<'t>); USUAL]>,
}

impl<'t> Reservations<'t> {
    /// Claims a cell for each of these new keys whose state has to be stored.
    fn all<C: Clock>(
        store: &'t Memory<C>,
        set: &Set<'_>,
        names: &SetCells,
        new_keys: impl Iterator<Item = (usize, bool)>,
        now: Time,
        may_evict: bool,
    ) -> Result<Self, SetAttempt> {
        let mut claims = Self { claims: SmallVec::new() };
        let new_keys: SmallVec<[(usize, bool); USUAL]> = new_keys.collect();
        for &(index, _) in new_keys.iter().filter(|(_, remembers)| *remembers) {
            let name = names.cells.names()[index];
            let limit_tag = LimitTag::of(names.limit(set, index));
            match store.claim(name, limit_tag, now, may_evict) {
                Ok(claimed) => claims.claims.push((index, limit_tag, claimed)),
                Err(InsertError::Raced) => return Err(SetAttempt::Again),
                Err(InsertError::Full { page }) => {
                    return Err(SetAttempt::Full { page, name, now });
                }
            }
        }
        // The others are not written, but their absence must hold at the same time as the rest.
        // They are looked up last, when any thread that would insert them can see the claimed
        // cells.
        for &(index, _) in new_keys.iter().filter(|(_, remembers)| !*remembers) {
            let insert_slot =
                store.table.try_insert_slot(names.cells.names()[index]).ok_or(SetAttempt::Again)?;
            if insert_slot.find().is_some() {
                return Err(SetAttempt::Again);
            }
        }
        Ok(claims)
    }

    fn fill(mut self, mut word: impl FnMut(usize) -> Word) {
        for (index, _, claimed) in self.claims.drain(..) {
            let word = word(index);
            claimed.fill(word);
        }
    }
}

impl Drop for Reservations<'_> {
    fn drop(&mut self) {
        for (_, limit_tag, claimed) in self.claims.drain(..) {
            claimed.fill(Word::EMPTY.with_limit_tag(limit_tag));
        }
    }
}
