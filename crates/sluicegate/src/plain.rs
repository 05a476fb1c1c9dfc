//! The plain store in memory: a sharded map, and `decide` under the locks of its shards.
//!
//! Nothing clever: it is the model that every other store is compared with.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluicegate_core::{Check, Decision, Id, Key, Limit, Place, Set, State, Time, decide};
use smallvec::SmallVec;

use crate::clock::{Clock, SystemClock};
use crate::error::CheckError;
use crate::store::{Applied, Immediate, Store};

const SHARDS: usize = 64;
/// A shard with fewer counters than this is not worth sweeping.
const FEW: usize = 1_024;

/// State in the memory of this process, under its own clock.
#[derive(Debug)]
pub struct PlainMemory<C = SystemClock> {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    clock: C,
}

#[derive(Debug, Default)]
struct Shard {
    counters: HashMap<Box<[u8]>, Counter>,
    /// Swept when it has grown to this many counters, so that each counter pays for a
    /// constant share of all sweeping.
    sweep_at: usize,
}

#[derive(Debug)]
struct Counter {
    state: State,
    /// From then on the counter is as good as none.
    fresh_at: Time,
}

/// A counter's name: the limit's name and the key, or the id of a settled receipt.
type Name = SmallVec<[u8; 128]>;

/// Counters and their states while a set is decided.
#[derive(Default)]
struct Desk {
    names: SmallVec<[(usize, Name); 2]>,
    states: SmallVec<[State; 2]>,
    places: SmallVec<[Place; 2]>,
}

impl PlainMemory {
    /// An empty store under the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(SystemClock::new())
    }
}

impl Default for PlainMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock> PlainMemory<C> {
    /// An empty store under another clock.
    pub fn with_clock(clock: C) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: RandomState::new(), clock }
    }

    /// How many counters are kept, recovered ones included until they are swept.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).counters.len()).sum()
    }

    /// Whether no counter is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn decide(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Applied {
        let desk = self.desk(set);
        let shards = self.lock_shards(&desk);
        // Read under the locks, so that time never goes back for a counter.
        let now = self.clock.now();
        let mut loan = Loan::new(set, desk, shards, now);
        let Desk { places, states, .. } = &mut loan.desk;
        let ruling = decide(set, now, places, states, decisions);
        Applied::by_store(ruling, now)
    }

    /// Gives each distinct counter of the set a slot.
    fn desk(&self, set: &Set<'_>) -> Desk {
        let mut desk = Desk::default();
        for check in set.checks() {
            let mut place = Place::cell(desk.slot(self, counter_name(check)));
            if let Some(receipt) = check.settles() {
                place = place.remembered_in(desk.slot(self, receipt_name(receipt)));
            }
            desk.places.push(place);
        }
        desk
    }

    /// Locks every shard the set needs, in order: two sets never wait for each other in a ring.
    fn lock_shards(&self, desk: &Desk) -> Locked<'_> {
        let mut needed: SmallVec<[usize; 4]> = desk.names.iter().map(|(shard, _)| *shard).collect();
        needed.sort_unstable();
        needed.dedup();
        needed.into_iter().map(|shard| (shard, lock(&self.shards[shard]))).collect()
    }

    fn shard(&self, name: &[u8]) -> usize {
        usize::try_from(self.hasher.hash_one(name) % SHARDS as u64).unwrap_or(0)
    }
}

impl Desk {
    fn slot<C: Clock>(&mut self, store: &PlainMemory<C>, name: Name) -> usize {
        let known = self.names.iter().position(|(_, other)| *other == name);
        known.unwrap_or_else(|| {
            self.names.push((store.shard(&name), name));
            self.states.push(State::Vacant);
            self.names.len() - 1
        })
    }
}

/// The shards a set needs, with their indices.
type Locked<'s> = SmallVec<[(usize, MutexGuard<'s, Shard>); 2]>;

/// States taken out of their shards to be decided on. They go back when this is dropped,
/// also if deciding should panic: a state that is lost would be a budget handed out.
struct Loan<'a, 's> {
    set: &'a Set<'a>,
    desk: Desk,
    shards: Locked<'s>,
    now: Time,
}

impl<'a, 's> Loan<'a, 's> {
    fn new(set: &'a Set<'a>, mut desk: Desk, mut shards: Locked<'s>, now: Time) -> Self {
        for ((shard, name), state) in desk.names.iter().zip(&mut desk.states) {
            if let Some(counter) = shard_of(&mut shards, *shard).counters.get_mut(&name[..]) {
                *state = mem::take(&mut counter.state);
            }
        }
        Self { set, desk, shards, now }
    }

    /// The limit that says when a slot's state is fresh. A remembered settlement says so
    /// itself, whichever limit is asked.
    fn limit(&self, slot: usize) -> &'a Limit {
        let met = self.desk.places.iter().position(|place| place.index() == slot);
        self.set.checks()[met.unwrap_or(0)].limit()
    }
}

impl Drop for Loan<'_, '_> {
    fn drop(&mut self) {
        for slot in 0..self.desk.names.len() {
            let state = mem::take(&mut self.desk.states[slot]);
            let fresh_at = self.limit(slot).fresh_at(&state);
            let (shard, name) = &self.desk.names[slot];
            let shard = shard_of(&mut self.shards, *shard);
            shard.put(name, Counter { state, fresh_at }, self.now);
        }
    }
}

impl Shard {
    fn put(&mut self, name: &Name, counter: Counter, now: Time) {
        if counter.state == State::Vacant {
            self.counters.remove(&name[..]);
        } else if let Some(kept) = self.counters.get_mut(&name[..]) {
            *kept = counter;
        } else {
            if self.counters.len() >= self.sweep_at.max(FEW) {
                self.counters.retain(|_, counter| counter.fresh_at > now);
                self.sweep_at = self.counters.len() * 2;
            }
            self.counters.insert(name.to_vec().into(), counter);
        }
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shard_of<'a>(locked: &'a mut [(usize, MutexGuard<'_, Shard>)], index: usize) -> &'a mut Shard {
    let at = locked.iter().position(|(shard, _)| *shard == index).unwrap_or(0);
    &mut locked[at].1
}

fn counter_name(check: &Check<'_>) -> Name {
    let mut name = Name::new();
    Key::append(&mut name, check.limit().name().as_bytes());
    name.extend_from_slice(check.key());
    name
}

/// Limits have names, so no counter's name begins with an empty part: no clash with a receipt's.
fn receipt_name(receipt: Id) -> Name {
    let mut name = Name::new();
    Key::append(&mut name, b"");
    name.extend_from_slice(&receipt.to_bits().to_be_bytes());
    name
}

impl<C: Clock> Store for PlainMemory<C> {
    type Clock = C;

    fn clock(&self) -> &C {
        &self.clock
    }

    fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> impl Future<Output = Result<Applied, CheckError>> + Send + 'a {
        ready(Ok(self.decide(set, decisions)))
    }

    fn apply_detached(&self, check: Check<'_>) {
        // Only receipts are settled this way, and those carry their own id.
        self.decide(&Set::one(&check, Id::from_bits(0)), &mut [None]);
    }
}

impl<C: Clock> Immediate for PlainMemory<C> {}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn states_on_loan_come_back_even_from_a_panic() {
        let store = PlainMemory::with_clock(ManualClock::default());
        let limit = Limit::token_bucket("limit", "5/day".parse().unwrap()).unwrap();
        let check = Check::new(&limit, "key");
        let set = Set::one(&check, Id::from_bits(1));
        let mut decisions = [None];
        store.decide(&set, &mut decisions);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let desk = store.desk(&set);
            let shards = store.lock_shards(&desk);
            let _loan = Loan::new(&set, desk, shards, store.clock.now());
            panic!("while deciding");
        }));
        assert!(panicked.is_err());
        store.decide(&set, &mut decisions);
        assert_eq!(decisions[0].unwrap().remaining(), 3, "no unit came back");
    }
}
