//! Writing a case step by step, with the oracle's own answers at hand to find the next edge.

use std::collections::BTreeMap;

use crate::Oracle;
use crate::trace::{
    AlgorithmSpec, AskSpec, Case, CheckSpec, Expected, ExpectedDecision, Gate, LimitSpec,
    QuotaSpec, Step,
};

pub(super) const MILLI: u64 = 1000;
pub(super) const SECOND: u64 = 1000 * MILLI;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;
pub(super) const YEAR: u64 = 365 * DAY;

/// The beginning of a day (a multiple of `DAY`), so that periods and blocks begin here too.
pub(super) const DAWN: u64 = 19_675 * DAY;

/// A case being written.
pub(super) struct Story {
    case: Case,
    oracle: Oracle,
    now: u64,
}

impl Story {
    /// A story with one limit, whose handle is `calls`, beginning at `DAWN`.
    pub(super) fn new(name: impl Into<String>, algorithm: &AlgorithmSpec) -> Story {
        Story::with(name, &[("calls", "calls", algorithm)])
    }

    /// A story with these limits: handle, name, algorithm.
    pub(super) fn with(name: impl Into<String>, limits: &[(&str, &str, &AlgorithmSpec)]) -> Story {
        let limits: BTreeMap<String, LimitSpec> = limits
            .iter()
            .map(|(handle, name, algorithm)| {
                let algorithm = (*algorithm).clone();
                ((*handle).to_owned(), LimitSpec { name: (*name).to_owned(), algorithm })
            })
            .collect();
        let oracle = Oracle::new(&limits);
        let case = Case { name: name.into(), limits, steps: Vec::new() };
        Story { case, oracle, now: DAWN }
    }

    /// Moves to this time.
    pub(super) fn at(&mut self, now: u64) -> &mut Story {
        self.now = now;
        self
    }

    /// Lets time pass.
    pub(super) fn wait(&mut self, micros: u64) -> &mut Story {
        self.now += micros;
        self
    }

    /// Sets the clock back.
    pub(super) fn back(&mut self, micros: u64) -> &mut Story {
        self.now -= micros;
        self
    }

    /// Asks one check; periods that are missing are filled in.
    pub(super) fn ask(&mut self, check: CheckSpec) -> ExpectedDecision {
        self.set(vec![check]).decisions[0].expect("a single check is always asked")
    }

    /// Asks a set; periods that are missing are filled in.
    pub(super) fn set(&mut self, checks: Vec<CheckSpec>) -> Expected {
        self.step(checks, false)
    }

    /// Asks terms that do not depend on each other.
    pub(super) fn independent(&mut self, checks: Vec<CheckSpec>) -> Expected {
        self.step(checks, true)
    }

    fn step(&mut self, mut checks: Vec<CheckSpec>, independent: bool) -> Expected {
        for check in &mut checks {
            if check.period.is_none() {
                check.period = self.case.limits[&check.limit].algorithm.period_of(self.now);
            }
        }
        self.exactly(checks, independent)
    }

    /// Asks these checks as they are, with the periods they have or have not.
    pub(super) fn exactly(&mut self, checks: Vec<CheckSpec>, independent: bool) -> Expected {
        let mut step = Step { at: self.now, independent, checks, expect: None };
        let answer = self.oracle.step(&step);
        step.expect = Some(answer.clone());
        self.case.steps.push(step);
        answer
    }

    /// The index of the last step, for settling what it yielded.
    pub(super) fn last(&self) -> usize {
        self.case.steps.len() - 1
    }

    /// The finished case.
    pub(super) fn done(self) -> Case {
        self.case
    }
}

fn check(limit: &str, ask: AskSpec) -> CheckSpec {
    let (limit, key) = (limit.to_owned(), "alice".to_owned());
    CheckSpec { limit, key, ask, gate: Gate::Enforce, or: false, period: None }
}

/// Takes exactly so many.
pub(super) fn take(limit: &str, units: u64) -> CheckSpec {
    up_to(limit, units, units)
}

/// Takes nothing, only looks.
pub(super) fn peek(limit: &str) -> CheckSpec {
    take(limit, 0)
}

/// Takes between `least` and `most`.
pub(super) fn up_to(limit: &str, least: u64, most: u64) -> CheckSpec {
    check(limit, AskSpec::Take { least, most, patience_us: None })
}

/// Takes exactly so many, willing to wait.
pub(super) fn patient(limit: &str, units: u64, patience: u64) -> CheckSpec {
    let patience_us = Some(patience);
    check(limit, AskSpec::Take { least: units, most: units, patience_us })
}

/// Charges what was used already.
pub(super) fn charge(limit: &str, units: u64) -> CheckSpec {
    check(limit, AskSpec::Charge { units })
}

/// Gives units back without a receipt.
pub(super) fn refund(limit: &str, units: u64) -> CheckSpec {
    check(limit, AskSpec::Refund { units })
}

/// Settles what the first check of a step yielded.
pub(super) fn settle(limit: &str, step: usize, actual: u64) -> CheckSpec {
    check(limit, AskSpec::Settle { step, check: 0, actual })
}

/// Settles what some check of a step yielded.
pub(super) fn settle_of(limit: &str, step: usize, of: usize, actual: u64) -> CheckSpec {
    check(limit, AskSpec::Settle { step, check: of, actual })
}

/// Renews the hold of the first check of a step.
pub(super) fn renew(limit: &str, step: usize) -> CheckSpec {
    check(limit, AskSpec::Renew { step, check: 0 })
}

/// Tells that the quota was another before.
pub(super) fn rescale(limit: &str, from: QuotaSpec, id: u64) -> CheckSpec {
    check(limit, AskSpec::Rescale { from, id })
}

/// Makes the cell vacant.
pub(super) fn reset(limit: &str) -> CheckSpec {
    check(limit, AskSpec::Reset)
}

impl CheckSpec {
    /// The same for another key.
    pub(super) fn of(self, key: &str) -> CheckSpec {
        CheckSpec { key: key.to_owned(), ..self }
    }

    /// The same as an alternative to the check before.
    pub(super) fn or(self) -> CheckSpec {
        CheckSpec { or: true, ..self }
    }

    /// The same, only observed.
    pub(super) fn observed(self) -> CheckSpec {
        CheckSpec { gate: Gate::Observe, ..self }
    }

    /// The same with this period.
    pub(super) fn during(self, start: u64, end: u64) -> CheckSpec {
        CheckSpec { period: Some((start, end)), ..self }
    }
}

impl AlgorithmSpec {
    /// The same, with or without debt.
    pub(super) fn with_debt(mut self, allowed: bool) -> AlgorithmSpec {
        match &mut self {
            AlgorithmSpec::TokenBucket(spec)
            | AlgorithmSpec::LeakyBucket(spec)
            | AlgorithmSpec::Queue(spec) => spec.debt = allowed,
            AlgorithmSpec::FixedWindow { debt, .. }
            | AlgorithmSpec::SlidingWindow { debt, .. }
            | AlgorithmSpec::SlidingLog { debt, .. } => *debt = allowed,
            AlgorithmSpec::Concurrency { .. } | AlgorithmSpec::Cooldown { .. } => {}
        }
        self
    }
}
