//! Nodes that share a store, which becomes unavailable, loses its state, and comes back.

use sluicegate::{Check, Clock, Cost, Decision, Limiter, ManualClock, Memory, Span};
use sluicegate_audit::{DecisionSource, TraceEntry};

use crate::traced_run::{Case, KEYS};
use sluicegate_testkit::Rng;

pub(crate) const NODES: u32 = 3;

type Store = Limiter<Memory<ManualClock>>;

/// Nodes that share a store.
pub(crate) struct Cluster {
    pub(crate) clock: ManualClock,
    shared: Store,
    own: Vec<Store>,
    pub(crate) entries: Vec<TraceEntry>,
    /// Requests sent while the store was unavailable, delivered when it is back.
    underway: Vec<(&'static str, u64)>,
    /// Cached refusals of nodes: the node, the key, the cost, until when.
    remembered: Vec<(usize, &'static str, u64, u64)>,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::default();
        let store = || Limiter::new(Memory::with_clock(clock.clone()));
        let own = (0..NODES).map(|_| store()).collect();
        Self {
            shared: store(),
            own,
            entries: Vec::new(),
            underway: Vec::new(),
            remembered: Vec::new(),
            clock,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_micros()
    }

    /// Clears the store.
    pub(crate) fn lose(&mut self) {
        self.shared = Limiter::new(Memory::with_clock(self.clock.clone()));
        self.remembered.clear();
    }

    fn record(
        &mut self,
        node: usize,
        key: &'static str,
        cost: u64,
        by: DecisionSource,
        decision: &Decision,
    ) {
        let mut entry = TraceEntry::decision("rule", key, self.clock.now(), cost, decision);
        if let Some(receipt) = decision.receipt() {
            entry = entry.holding(receipt);
        }
        self.entries.push(entry.on(format!("node-{node}")).by(by));
    }

    /// One node decides one request.
    fn answer(&mut self, case: &Case, dice: &mut Rng, away: bool) {
        let node = usize::try_from(dice.below(NODES.into())).unwrap();
        let key = KEYS[usize::try_from(dice.below(3)).unwrap()];
        let cost = [1, 1, 1, 2][usize::try_from(dice.below(4)).unwrap()];
        let check = |limit| Check::new(limit, key).cost(Cost::new(cost).unwrap());
        if away {
            match dice.below(4) {
                // It was charged, and the answer was lost.
                0 => {
                    self.shared.check(check(&case.limit)).now().unwrap();
                }
                1 => self.underway.push((key, cost)),
                _ => {}
            }
            let share = case.limit.share_of(NODES);
            let decision = self.own[node].check(check(&share)).now().unwrap();
            self.record(node, key, cost, DecisionSource::Local, &decision);
            return;
        }
        let now = self.now();
        self.remembered.retain(|(.., until)| *until > now);
        let known = |other: &&(usize, &str, u64, u64)| (other.0, other.1) == (node, key);
        let memory = self.remembered.iter().find(|memory| known(memory) && memory.2 <= cost);
        if let Some((.., until)) = memory.copied() {
            let refused = TraceEntry {
                cost,
                allowed: false,
                retry_after_us: Some(until - now),
                ..TraceEntry::event(
                    sluicegate_audit::TraceEvent::Decision,
                    "rule",
                    key,
                    self.clock.now(),
                )
            };
            self.entries.push(refused.on(format!("node-{node}")).by(DecisionSource::Cached));
            return;
        }
        let decision = self.shared.check(check(&case.limit)).now().unwrap();
        if let Some(retry) = decision.retry_after() {
            self.remembered.push((node, key, cost, now + retry.as_micros()));
        }
        self.record(node, key, cost, DecisionSource::Store, &decision);
    }

    /// Sends requests as fast as they are refused, for `steps` steps.
    pub(crate) fn rush(&mut self, case: &Case, dice: &mut Rng, steps: u64, away: bool) {
        for _ in 0..steps {
            let micros = dice.below(case.pulse / 3);
            self.clock.advance(Span::from_micros(micros).into());
            self.answer(case, dice, away);
        }
        if away {
            for (key, cost) in std::mem::take(&mut self.underway) {
                let check = Check::new(&case.limit, key).cost(Cost::new(cost).unwrap());
                self.shared.check(check).now().unwrap();
            }
        }
    }

    /// Lets time pass without requests.
    pub(crate) fn pause(&self, micros: u64) {
        self.clock.advance(Span::from_micros(micros).into());
    }
}
