//! A store that is there or not, as the test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::{
    Applied, By, Check, CheckError, Decision, ManualClock, Memory, Outage, Ruling, Set, Store,
};
use sluicegate_redis::{Counts, Health};
use sluicegate_server::{Measured, Shared, Size};

/// In memory while it is there; otherwise checks go by what they say of an outage.
pub(crate) struct Fading {
    memory: Memory<ManualClock>,
    shared: Arc<Mutex<Shared>>,
}

/// What says whether it is there.
#[derive(Clone)]
pub(crate) struct Hand(Arc<Mutex<Shared>>);

impl Fading {
    pub(crate) fn new(clock: ManualClock) -> (Self, Hand) {
        let health = Health {
            up: true,
            since: Duration::from_millis(1_500),
            why: None,
            server: None,
            clock_offset_micros: Some(-250),
            nodes: 3,
            parts: Vec::new(),
        };
        let shared = Arc::new(Mutex::new(Shared { health, counts: Counts::default() }));
        (Self { memory: Memory::with_clock(clock), shared: Arc::clone(&shared) }, Hand(shared))
    }
}

impl Hand {
    /// Takes the store away.
    pub(crate) fn fade(&self, why: &str) {
        self.change(|shared| {
            shared.health.up = false;
            shared.health.why = Some(why.to_owned());
        });
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Shared)) {
        change(&mut self.0.lock().unwrap());
    }
}

impl Store for Fading {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    async fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        if self.shared.lock().unwrap().health.up {
            return self.memory.apply(set, decisions).await;
        }
        let local = |check: &Check<'_>| check.outage() == Outage::Local;
        let own: Vec<Check<'_>> =
            set.checks().iter().filter(|check| local(check)).copied().collect();
        let mut answers = vec![None; own.len()];
        let applied = self.memory.apply(&Set::all(&own, set.id()), &mut answers).await?;
        let mut answers = answers.into_iter();
        let mut ruling = applied.ruling;
        for (check, place) in set.checks().iter().zip(decisions) {
            let allowed = check.outage() == Outage::Allow;
            *place = match check.outage() {
                Outage::Local => answers.next().flatten(),
                _ => Some(Decision::unasked(check.limit(), check.asks(), allowed)),
            };
            if check.outage() == Outage::Deny {
                ruling = Ruling::Refused;
            }
        }
        let by = if own.is_empty() { By::Policy } else { By::Share };
        Ok(Applied { ruling, by, ..applied })
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

impl Measured for Fading {
    fn size(&self) -> Size {
        self.memory.size()
    }

    fn shared(&self) -> Option<Shared> {
        Some(self.shared.lock().unwrap().clone())
    }
}
