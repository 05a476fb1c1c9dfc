//! Deciding sets: all their counters at once.

use sluicegate_core::{Decision, Limit, Place, Set, State, Time, decide, decide_together};
use smallvec::SmallVec;

use super::Memory;
use super::hash::{Fingerprint, HashKey};
use super::newcomer::Obstacle;
use super::records::Record;
use super::sync::Patience;
use super::table::{Claimed, Found};
use super::word::{Mark, Word};
use crate::clock::Clock;
use crate::store::Applied;

/// How often a set is decided first and locked afterwards, before it is locked first.
const SWAPS: usize = 4;

/// As many checks as most requests owe.
const FEW: usize = 4;

/// More than nearly all owe; beyond it, memory is asked for.
const USUAL: usize = 8;

/// The order of the first `count` names; `None` if one of them is there twice.
#[inline]
fn in_order(names: &[Fingerprint; FEW], count: usize) -> Option<[usize; FEW]> {
    let mut order: [usize; FEW] = std::array::from_fn(|index| index);
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

/// The counters of a set, each once.
struct Names {
    all: SmallVec<[Fingerprint; USUAL]>,
    places: SmallVec<[Place; USUAL]>,
    /// Their indices in the order in which they are locked.
    order: SmallVec<[usize; USUAL]>,
}

impl Names {
    fn of(set: &Set<'_>, key: HashKey) -> Self {
        let mut names = SmallVec::new();
        let mut places = SmallVec::new();
        for check in set.checks() {
            let mut place = Place::cell(slot(&mut names, key.counter(check)));
            if let Some(receipt) = check.settles() {
                place = place.remembered_in(slot(&mut names, key.receipt(receipt)));
            }
            places.push(place);
        }
        let mut order: SmallVec<[usize; USUAL]> = (0..names.len()).collect();
        order.sort_unstable_by_key(|index| names[*index]);
        Self { all: names, places, order }
    }

    /// The limit that a counter belongs to. A remembered settlement tells itself when it is
    /// fresh, whichever limit is asked.
    fn limit<'a>(&self, set: &Set<'a>, index: usize) -> &'a Limit {
        let met = self.places.iter().position(|place| place.index() == index);
        set.checks()[met.unwrap_or(0)].limit()
    }
}

fn slot(names: &mut SmallVec<[Fingerprint; USUAL]>, name: Fingerprint) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// What became of an attempt to decide a set.
enum Attempt {
    Decided(Applied),
    /// Somebody was in the way.
    Again,
    /// A counter is locked, or has or needs a record.
    Lock,
    /// A newcomer's page is full.
    Full {
        page: usize,
        name: Fingerprint,
        now: Time,
    },
}

impl<C: Clock> Memory<C> {
    /// Decides a few takes on buckets that are there and fit their words, which is what most sets
    /// are, as [`Swapping`] would. `None` if it is anything else, or if somebody was in the way.
    #[inline]
    pub(super) fn decide_together(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        let count = set.checks().len();
        if count > FEW {
            return None;
        }
        let mut names = [Fingerprint::new(0); FEW];
        let mut cells = [None; FEW];
        let mut words = [Word::EMPTY; FEW];
        let mut times = [Time::EPOCH; FEW];
        for (index, check) in set.checks().iter().enumerate() {
            if !check.takes_from_bucket() {
                return None;
            }
            names[index] = self.key.counter(check);
            let Found { cell, word } = self.table.find(names[index])?;
            times[index] = word.full_at(self.epoch)?;
            (cells[index], words[index]) = (Some(cell), word);
        }
        let order = in_order(&names, count)?;
        let now = self.clock.now();
        let before = times;
        let ruling = decide_together(set, now, &mut times[..count], &mut decisions[..count])?;
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

    /// Decides one check whose counter is there and has a record. `None` if it is anything else,
    /// or if somebody was in the way.
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
        // Unlocked also if deciding should panic.
        let mut locked = Locked { cells: SmallVec::new() };
        locked.cells.push(found);
        let ((applied, filed), grown) = self.records.change(record, |record| {
            // Read under the lock, so that time never goes back for a counter.
            let now = self.clock.now();
            let state = std::slice::from_mut(&mut record.state);
            let ruling = decide(set, now, &[Place::cell(0)], state, decisions);
            record.fresh_at = check.limit().fresh_at(&record.state);
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
            self.keep_within_bounds(applied.now);
        }
        Some(applied)
    }

    /// Decides any set.
    #[inline(never)]
    pub(super) fn decide_set(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Applied {
        let names = Names::of(set, self.key);
        let mut patience = Patience::default();
        let (mut swaps, mut may_forget) = (0, false);
        loop {
            let attempt = if swaps < SWAPS {
                Swapping { store: self, set, names: &names, may_forget }.attempt(decisions)
            } else {
                Locking { store: self, set, names: &names, may_forget }.attempt(decisions)
            };
            match attempt {
                Attempt::Decided(applied) => return applied,
                Attempt::Lock => swaps = SWAPS,
                Attempt::Full { page, name, now } => may_forget = !self.grow(page, name, now),
                Attempt::Again => {
                    swaps += 1;
                    patience.wait();
                }
            }
        }
    }

    /// Files a state that was changed: in the word, else in a record. `taken` is the record that
    /// it came from.
    fn file(&self, name: Fingerprint, word: Word, state: State, limit: &Limit, now: Time) -> Word {
        let word = if word.is_vacant() { word.marked(Mark::of(limit)) } else { word };
        if let Some(filed) = word.with_state(&state, self.epoch) {
            if let Some(record) = word.record() {
                self.records.free(record);
            }
            return filed;
        }
        let (fresh_at, share) = (limit.fresh_at(&state), limit.share_used(&state, now));
        let changed = Record { owner: Some(name), state, fresh_at, share };
        match word.record() {
            Some(record) => {
                self.records.put(record, changed);
                word.unlocked()
            }
            None => word.with_record(self.records.keep(changed)),
        }
    }
}

/// Cells that are locked until they are written, or else left as they were.
struct Locked<'t> {
    cells: SmallVec<[Found<'t>; USUAL]>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        for Found { cell, word } in &self.cells {
            cell.unlock(*word);
        }
    }
}

/// Cells that are locked for newcomers until they are filled, or else left vacant.
struct Claims<'t> {
    claims: SmallVec<[(usize, Mark, Claimed<'t>); USUAL]>,
}

impl<'t> Claims<'t> {
    /// Claims a cell for each newcomer among these that is left with something to remember.
    fn all<C: Clock>(
        store: &'t Memory<C>,
        set: &Set<'_>,
        names: &Names,
        newcomers: impl Iterator<Item = (usize, bool)>,
        now: Time,
        may_forget: bool,
    ) -> Result<Self, Attempt> {
        let mut claims = Self { claims: SmallVec::new() };
        let newcomers: SmallVec<[(usize, bool); USUAL]> = newcomers.collect();
        for &(index, _) in newcomers.iter().filter(|(_, remembers)| *remembers) {
            let name = names.all[index];
            let mark = Mark::of(names.limit(set, index));
            match store.claim(name, mark, now, may_forget) {
                Ok(claimed) => claims.claims.push((index, mark, claimed)),
                Err(Obstacle::Raced) => return Err(Attempt::Again),
                Err(Obstacle::Full { page }) => return Err(Attempt::Full { page, name, now }),
            }
        }
        // Nothing to write for the others, but what was answered must be true: of all at once,
        // so they are looked for last, when whoever would write them can see what is claimed.
        for &(index, _) in newcomers.iter().filter(|(_, remembers)| !*remembers) {
            let door = store.table.door_or_way_out(names.all[index]).ok_or(Attempt::Again)?;
            if door.find().is_some() {
                return Err(Attempt::Again);
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

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        for (_, mark, claimed) in self.claims.drain(..) {
            claimed.fill(Word::EMPTY.marked(mark));
        }
    }
}

/// Decides on what it reads, then locks and writes if that is still so.
struct Swapping<'a, 's, C> {
    store: &'s Memory<C>,
    set: &'a Set<'a>,
    names: &'a Names,
    may_forget: bool,
}

impl<'s, C: Clock> Swapping<'_, 's, C> {
    fn attempt(&self, decisions: &mut [Option<Decision>]) -> Attempt {
        let Self { store, set, names, .. } = self;
        let found: SmallVec<[Option<Found<'s>>; USUAL]> =
            names.all.iter().map(|name| store.table.find(*name)).collect();
        let word = |found: &Option<Found<'_>>| found.map_or(Word::EMPTY, |found| found.word);
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
            let stands = names.all.iter().zip(&found).all(|(name, found)| match found {
                Some(found) => found.cell.word() == found.word,
                None => store.table.door(*name).find().is_none(),
            });
            return if stands { Attempt::Decided(applied) } else { Attempt::Again };
        }
        match self.write(&found, &after, now) {
            Ok(()) => Attempt::Decided(applied),
            Err(attempt) => attempt,
        }
    }

    fn write(&self, found: &[Option<Found<'s>>], after: &[Word], now: Time) -> Result<(), Attempt> {
        let Self { store, set, names, may_forget } = self;
        let mut locked = Locked { cells: SmallVec::new() };
        for index in &names.order {
            let Some(found) = found[*index] else { continue };
            if !found.cell.lock(found.word) {
                return Err(Attempt::Again);
            }
            locked.cells.push(found);
        }
        let newcomers = found.iter().zip(after).enumerate();
        let newcomers = newcomers
            .filter(|(_, (found, _))| found.is_none())
            .map(|(index, (_, after))| (index, *after != Word::EMPTY));
        let claims = Claims::all(store, set, names, newcomers, now, *may_forget)?;
        for (index, found) in found.iter().enumerate() {
            if let Some(found) = found {
                found.cell.unlock(after[index]);
            }
        }
        locked.cells.clear();
        claims.fill(|index| after[index].marked(Mark::of(names.limit(set, index))));
        Ok(())
    }
}

/// Locks, then decides and writes.
struct Locking<'a, 's, C> {
    store: &'s Memory<C>,
    set: &'a Set<'a>,
    names: &'a Names,
    may_forget: bool,
}

impl<'s, C: Clock> Locking<'_, 's, C> {
    fn attempt(&self, decisions: &mut [Option<Decision>]) -> Attempt {
        let Self { store, set, names, may_forget } = *self;
        let Some(found) = self.lock_all() else { return Attempt::Again };
        // Read under the locks, so that time never goes back for a counter.
        let now = store.clock.now();
        let mut loan = Loan::new(self, found, now);
        let newcomers = loan.found.iter().any(Option::is_none);
        let kept = newcomers.then(|| loan.states.clone());
        let ruling = decide(set, now, &names.places, &mut loan.states, decisions);
        if newcomers {
            let absent = loan.found.iter().zip(&loan.states).enumerate();
            let absent: SmallVec<[(usize, bool); USUAL]> = absent
                .filter(|(_, (found, _))| found.is_none())
                .map(|(index, (_, state))| (index, *state != State::Vacant))
                .collect();
            match Claims::all(store, set, names, absent.into_iter(), now, may_forget) {
                Ok(claims) => claims.fill(|index| {
                    let (name, limit) = (names.all[index], names.limit(set, index));
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
        store.keep_within_bounds(now);
        Attempt::Decided(Applied::by_store(ruling, now))
    }

    /// Locks all counters that are there, in order; `None` if one of them is on its way to
    /// another page.
    fn lock_all(&self) -> Option<SmallVec<[Option<Found<'s>>; USUAL]>> {
        let mut locked = Locked { cells: SmallVec::new() };
        let mut all: SmallVec<[Option<Found<'s>>; USUAL]> = SmallVec::new();
        all.resize(self.names.all.len(), None);
        for index in &self.names.order {
            let mut patience = Patience::default();
            while let Some(found) = self.store.table.find(self.names.all[*index]) {
                if found.word.is_moved() {
                    return None;
                }
                if found.cell.lock(found.word) {
                    locked.cells.push(found);
                    all[*index] = Some(found);
                    break;
                }
                patience.wait();
            }
        }
        locked.cells.clear();
        Some(all)
    }
}

/// States taken out of their cells to be decided on. They go back when this is dropped, also if
/// deciding should panic: a state that is lost would be a budget handed out.
struct Loan<'l, 'a, 's, C: Clock> {
    by: &'l Locking<'a, 's, C>,
    found: SmallVec<[Option<Found<'s>>; USUAL]>,
    states: SmallVec<[State; USUAL]>,
    now: Time,
}

impl<'l, 'a, 's, C: Clock> Loan<'l, 'a, 's, C> {
    fn new(
        by: &'l Locking<'a, 's, C>,
        found: SmallVec<[Option<Found<'s>>; USUAL]>,
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

impl<C: Clock> Drop for Loan<'_, '_, '_, C> {
    fn drop(&mut self) {
        let Locking { store, set, names, .. } = *self.by;
        for (index, found) in self.found.iter().enumerate() {
            let Some(found) = found else { continue };
            let state = std::mem::take(&mut self.states[index]);
            let limit = names.limit(set, index);
            let word = store.file(names.all[index], found.word, state, limit, self.now);
            found.cell.unlock(word);
        }
    }
}
