//! A store whose availability the test controls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::{
    Applied, Batch, Check, CheckError, DecidedBy, Decision, ManualClock, Memory, OnStoreError,
    Ruling, Set, Store,
};
use sluicegate_redis::{Health, Stats};
use sluicegate_server::{RemoteStats, StoreSize, StoreStats};

/// A memory store while it is up; otherwise the fallbacks of the checks decide.
pub(crate) struct FlakyStore {
    memory: Memory<ManualClock>,
    shared: Arc<Mutex<RemoteStats>>,
}

/// Controls the availability of a [`FlakyStore`] store.
#[derive(Clone)]
pub(crate) struct StoreControl(Arc<Mutex<RemoteStats>>);

impl FlakyStore {
    pub(crate) fn new(clock: ManualClock) -> (Self, StoreControl) {
        let health = Health {
            up: true,
            since: Duration::from_millis(1_500),
            why: None,
            server: None,
            clock_offset_micros: Some(-250),
            nodes: 3,
            parts: Vec::new(),
        };
        let shared = Arc::new(Mutex::new(RemoteStats { health, counts: Stats::default() }));
        (
            Self { memory: Memory::with_clock(clock), shared: Arc::clone(&shared) },
            StoreControl(shared),
        )
    }
}

impl StoreControl {
    /// Makes the store unreachable.
    pub(crate) fn fail(&self, why: &str) {
        self.change(|shared| {
            shared.health.up = false;
            shared.health.why = Some(why.to_owned());
        });
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut RemoteStats)) {
        change(&mut self.0.lock().unwrap());
    }
}

impl Store for FlakyStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        if self.shared.lock().unwrap().health.up {
            return self.memory.apply(batch).await;
        }
        while let Some((set, decisions)) = batch.next_set() {
            let applied = self.decide_without_store(set, decisions);
            batch.push(applied);
        }
        Ok(())
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

impl FlakyStore {
    fn decide_without_store(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Applied {
        let local = |check: &Check<'_>| check.outage() == OnStoreError::Local;
        let own: Vec<Check<'_>> =
            set.checks().iter().filter(|check| local(check)).copied().collect();
        let mut answers = vec![None; own.len()];
        let applied = self.memory.decide(&Set::all(&own, set.id()), &mut answers);
        let mut answers = answers.into_iter();
        let mut ruling = applied.ruling;
        for (check, decision) in set.checks().iter().zip(decisions) {
            let allowed = check.outage() == OnStoreError::Allow;
            *decision = match check.outage() {
                OnStoreError::Local => answers.next().flatten(),
                _ => Some(Decision::unasked(check.limit(), check.operation(), allowed)),
            };
            if check.outage() == OnStoreError::Deny {
                ruling = Ruling::Refused;
            }
        }
        let by = if own.is_empty() { DecidedBy::Policy } else { DecidedBy::Share };
        Applied { ruling, by, ..applied }
    }
}

impl StoreStats for FlakyStore {
    fn size(&self) -> StoreSize {
        self.memory.size()
    }

    fn shared(&self) -> Option<RemoteStats> {
        Some(self.shared.lock().unwrap().clone())
    }
}
