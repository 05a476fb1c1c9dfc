//! Implementations that decide sets at given times.

use std::collections::HashMap;

use sluicegate::{Applied, Batch, CellMap, Check, CheckError, ManualClock, Store};
use sluicegate_core::{ChargeId, Decision, Ruling, Set, State, Time, decide};
use sluicegate_testkit::block_on;

/// Decides one set after the other, at given times.
pub trait Subject {
    /// Decides `set` at `now`.
    fn apply(&mut self, now: Time, set: &Set<'_>) -> (Ruling, Vec<Option<Decision>>);
}

/// The bare core, with its cells in a map.
///
/// Vacant cells are not in the map, so that equal maps imply equal answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapStore {
    cells: HashMap<CellName, State>,
}

/// The identity of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CellName {
    Counter(String, Vec<u8>),
    Settled(ChargeId),
}

/// Returns the distinct cells of a set.
pub(crate) fn cells_of(set: &Set<'_>) -> CellMap<CellName> {
    let counter = |check: &Check<'_>| {
        CellName::Counter(check.limit().name().to_owned(), check.key().to_vec())
    };
    CellMap::of(set, counter, |id, _| CellName::Settled(id))
}

impl MapStore {
    pub(crate) fn read(&self, name: &CellName) -> State {
        self.cells.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn write(&mut self, name: CellName, state: State) {
        if state == State::Vacant {
            self.cells.remove(&name);
        } else {
            self.cells.insert(name, state);
        }
    }
}

impl Subject for MapStore {
    fn apply(&mut self, now: Time, set: &Set<'_>) -> (Ruling, Vec<Option<Decision>>) {
        let cells = cells_of(set);
        let mut states: Vec<State> = cells.names().iter().map(|name| self.read(name)).collect();
        let mut decisions = vec![None; set.checks().len()];
        let ruling = decide(set, now, cells.places(), &mut states, &mut decisions);
        for (name, state) in cells.names().iter().zip(states) {
            self.write(name.clone(), state);
        }
        (ruling, decisions)
    }
}

/// A store whose manual clock is set before each step.
#[derive(Debug)]
pub struct ManualClockStore<S> {
    clock: ManualClock,
    store: S,
}

impl<S: Store> ManualClockStore<S> {
    /// Creates the store with `make`, on a new manual clock.
    pub fn new(make: impl FnOnce(ManualClock) -> S) -> Self {
        let clock = ManualClock::default();
        Self { store: make(clock.clone()), clock }
    }
}

impl<S: Store> Subject for ManualClockStore<S> {
    fn apply(&mut self, now: Time, set: &Set<'_>) -> (Ruling, Vec<Option<Decision>>) {
        self.clock.set(now);
        let mut decisions = vec![None; set.checks().len()];
        let applied = block_on(apply_set(&self.store, set, &mut decisions));
        let applied = applied.expect("the store answers");
        assert_eq!(applied.now, now, "the store must decide at its clock's time");
        (applied.ruling, decisions)
    }
}

/// Decides one set on a store.
pub async fn apply_set<S: Store>(
    store: &S,
    set: &Set<'_>,
    decisions: &mut [Option<Decision>],
) -> Result<Applied, CheckError> {
    let mut batch = Batch::new(std::slice::from_ref(set), decisions);
    store.apply(&mut batch).await?;
    Ok(batch.applied()[0])
}
