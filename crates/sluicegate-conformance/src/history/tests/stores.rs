//! Stores around one mutex, with correct and incorrect critical sections.

use std::sync::{Mutex, MutexGuard};
use std::thread;

use sluicegate::{
    Applied, Batch, ChargeId, Check, CheckError, Clock, Decision, ManualClock, Set, Store, Time,
};
use sluicegate_core::{State, decide};

use crate::subject::{MapStore, Subject, cells_of};

/// The way in which a set is decided.
#[derive(Debug, Clone, Copy)]
pub(super) enum DecisionMode {
    /// In one critical section: correct.
    OneStep,
    /// In one critical section, at a time read before it: correct as well.
    ClockFirst,
    /// Reads in one critical section and writes in another: incorrect.
    TwoSteps,
    /// A single check in one critical section, a set with one per written counter: incorrect.
    SetsInPieces,
}

#[derive(Debug)]
pub(super) struct MutexStore {
    cells: Mutex<MapStore>,
    clock: ManualClock,
    way: DecisionMode,
}

impl MutexStore {
    pub(super) fn making(way: DecisionMode) -> impl Fn(ManualClock) -> Self {
        move |clock| Self { cells: Mutex::default(), clock, way }
    }

    fn cells(&self) -> MutexGuard<'_, MapStore> {
        self.cells.lock().unwrap()
    }

    fn decide(&self, set: &Set<'_>) -> (Applied, Vec<Option<Decision>>) {
        match self.way {
            DecisionMode::SetsInPieces if set.checks().len() > 1 => self.in_pieces(set),
            DecisionMode::OneStep | DecisionMode::SetsInPieces => {
                let mut cells = self.cells();
                Self::at(self.clock.now(), &mut cells, set)
            }
            DecisionMode::ClockFirst => {
                let now = self.clock.now();
                thread::yield_now();
                Self::at(now, &mut self.cells(), set)
            }
            DecisionMode::TwoSteps => self.in_pieces(set),
        }
    }

    fn at(now: Time, cells: &mut MapStore, set: &Set<'_>) -> (Applied, Vec<Option<Decision>>) {
        let (ruling, decisions) = cells.apply(now, set);
        (Applied::by_store(ruling, now), decisions)
    }

    /// Reads the counters in one critical section, and writes each in one of its own.
    fn in_pieces(&self, set: &Set<'_>) -> (Applied, Vec<Option<Decision>>) {
        let cells = cells_of(set);
        let mut decisions = vec![None; set.checks().len()];
        let now = self.clock.now();
        let mut states: Vec<State> = {
            let store = self.cells();
            cells.names().iter().map(|name| store.read(name)).collect()
        };
        let ruling = decide(set, now, cells.places(), &mut states, &mut decisions);
        for (name, state) in cells.names().iter().zip(states) {
            thread::yield_now();
            self.cells().write(name.clone(), state);
        }
        (Applied::by_store(ruling, now), decisions)
    }
}

impl Store for MutexStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        while let Some((set, decisions)) = batch.next_set() {
            let (applied, found) = self.decide(set);
            decisions.copy_from_slice(&found);
            batch.push(applied);
        }
        Ok(())
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.decide(&Set::one(&check, ChargeId::from_bits(0)));
    }
}
