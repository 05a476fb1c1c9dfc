//! Traces of a correct limiter on a manual clock.

use sluicegate::{
    Check, Clock, Cost, Decision, Limit, Limiter, ManualClock, Memory, Operation, Receipt, Slices,
    Span,
};
use sluicegate_audit::{Audit, Findings, RuleSpec, TraceEntry, TraceEvent, TraceHeader};
use sluicegate_testkit::Rng;

/// A limit, its rule in a header, and the time between its edges.
pub(crate) struct Case {
    pub(crate) limit: Limit,
    pub(crate) spec: RuleSpec,
    pub(crate) pulse: u64,
}

pub(crate) fn cases() -> Vec<Case> {
    let quota = |text: &str| text.parse().unwrap();
    let case = |limit: Limit, spec: RuleSpec, pulse| Case { limit, spec, pulse };
    let sliding = |text: &str, slices: u32, strict: bool, pulse| {
        let kind = if strict { Slices::Strict(slices) } else { Slices::Weighted(slices) };
        let limit = Limit::sliding_window("sliding", quota(text), kind).unwrap();
        case(limit, RuleSpec::sliding_window(text, slices, strict), pulse)
    };
    vec![
        case(
            Limit::token_bucket("bucket", quota("7/3s burst 5")).unwrap(),
            RuleSpec::quota("token_bucket", "7/3s burst 5"),
            428_572,
        ),
        case(
            Limit::leaky_bucket("leaky", quota("100/min burst 4")).unwrap(),
            RuleSpec::quota("leaky_bucket", "100/min burst 4"),
            600_000,
        ),
        case(
            Limit::queue("queue", quota("7/3s burst 4")).unwrap(),
            RuleSpec::quota("queue", "7/3s burst 4"),
            428_572,
        ),
        case(
            Limit::fixed_window("window", quota("5/s")).unwrap(),
            RuleSpec::quota("fixed_window", "5/s"),
            200_000,
        ),
        case(
            Limit::fixed_window("monthly", quota("5/month")).unwrap(),
            RuleSpec::quota("fixed_window", "5/month"),
            86_400_000_000,
        ),
        sliding("5/s", 1, false, 200_000),
        sliding("6/s", 5, false, 150_000),
        sliding("6/s", 10, true, 150_000),
        case(
            Limit::sliding_log("log", quota("5/s")).unwrap(),
            RuleSpec::quota("sliding_log", "5/s"),
            200_000,
        ),
        case(
            Limit::concurrency("slots", 4, Span::from_millis(500)).unwrap(),
            RuleSpec::concurrency(4, 500),
            100_000,
        ),
    ]
}

pub(crate) const KEYS: [&str; 3] = ["ann", "bob", "cid"];

/// A limiter, and its recorded decisions.
pub(crate) struct Run {
    pub(crate) clock: ManualClock,
    pub(crate) limiter: Limiter<Memory<ManualClock>>,
    pub(crate) entries: Vec<TraceEntry>,
    held: Vec<(&'static str, Receipt)>,
}

impl Run {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::default();
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        Self { clock, limiter, entries: Vec::new(), held: Vec::new() }
    }

    pub(crate) fn advance(&self, micros: u64) {
        self.clock.advance(Span::from_micros(micros).into());
    }

    /// Requests this many units, with or without patience, and records the decision.
    pub(crate) fn ask(
        &mut self,
        limit: &Limit,
        key: &'static str,
        cost: u64,
        patience: Option<Span>,
    ) -> Decision {
        let units = Cost::new(cost).unwrap();
        let ask =
            patience.map_or(Operation::acquire(units), |patience| Operation::wait(units, patience));
        let decision =
            self.limiter.check(Check::new(limit, key).with_operation(ask)).now().unwrap();
        let mut entry = TraceEntry::decision("rule", key, self.clock.now(), cost, &decision);
        if let Some(patience) = patience {
            entry = entry.with_max_delay(patience);
        }
        if let Some(receipt) = decision.receipt().filter(|_| limit.holds()) {
            entry = entry.holding(receipt);
            self.held.push((key, *receipt));
        }
        self.entries.push(entry);
        decision
    }

    /// Releases or renews a hold of some key, alive or not.
    fn let_go(&mut self, limit: &Limit, dice: &mut Rng) {
        if self.held.is_empty() {
            return;
        }
        let index = usize::try_from(dice.below(self.held.len() as u64)).unwrap();
        let renews = dice.below(4) == 0;
        let (key, receipt) = if renews { self.held[index] } else { self.held.swap_remove(index) };
        let ask = if renews {
            Operation::Renew(receipt)
        } else {
            Operation::Settle { receipt, actual: Cost::ZERO }
        };
        let decision =
            self.limiter.check(Check::new(limit, key).with_operation(ask)).now().unwrap();
        let event = if renews { TraceEvent::Renew } else { TraceEvent::Release };
        let entry = TraceEntry::event(event, "rule", key, self.clock.now()).holding(&receipt);
        self.entries.push(TraceEntry { allowed: decision.is_allowed(), ..entry });
    }

    /// Sends this many requests, close to the edges that the decisions name.
    pub(crate) fn walk(&mut self, case: &Case, dice: &mut Rng, steps: u64) {
        let mut edge = 0;
        for _ in 0..steps {
            self.advance(match dice.below(8) {
                0 | 1 => 0,
                2 => 1,
                3 => edge,
                4 => u64::saturating_sub(edge, 1),
                5 => dice.below(case.pulse * 8),
                _ => dice.below(case.pulse * 2),
            });
            if case.limit.holds() && dice.below(3) == 0 {
                self.let_go(&case.limit, dice);
                continue;
            }
            let key = KEYS[usize::try_from(dice.below(3)).unwrap()];
            let cost = [1, 1, 1, 1, 2, 3, 0, 9][usize::try_from(dice.below(8)).unwrap()];
            let patience =
                (dice.below(6) == 0).then(|| Span::from_micros(dice.below(case.pulse * 4)));
            let decision = self.ask(&case.limit, key, cost, patience);
            edge = decision.retry_after().map_or(edge, Span::as_micros);
        }
    }
}

pub(crate) fn header(spec: &RuleSpec) -> TraceHeader {
    TraceHeader::default().rule("rule", spec.clone())
}

pub(crate) fn audit(header: TraceHeader, entries: &[TraceEntry]) -> Findings {
    let mut audit = Audit::new(header).unwrap();
    for entry in entries {
        audit.add(entry.clone());
    }
    audit.finish()
}
