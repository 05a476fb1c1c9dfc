//! The builder of a case, which uses the oracle's answers to find the next edge.

use std::collections::BTreeMap;

use crate::Oracle;
use crate::trace::{
    AlgorithmSpec, AskSpec, Case, CheckSpec, Expected, ExpectedDecision, LimitSpec, QuotaSpec, Step,
};

pub(super) const MILLI: u64 = 1000;
pub(super) const SECOND: u64 = 1000 * MILLI;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;
pub(super) const YEAR: u64 = 365 * DAY;

/// The beginning of a day (a multiple of `DAY`), so that periods and blocks begin here too.
pub(super) const DAWN: u64 = 19_675 * DAY;

/// A case under construction.
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

    /// Sets the time.
    pub(super) fn at(&mut self, now: u64) -> &mut Story {
        self.now = now;
        self
    }

    /// Advances the time.
    pub(super) fn wait(&mut self, micros: u64) -> &mut Story {
        self.now += micros;
        self
    }

    /// Sets the clock back.
    pub(super) fn back(&mut self, micros: u64) -> &mut Story {
        self.now -= micros;
        self
    }

    /// Applies one check; missing periods are filled in.
    pub(super) fn ask(&mut self, check: CheckSpec) -> ExpectedDecision {
        self.set(vec![check]).decisions[0].expect("a single check is always asked")
    }

    /// Applies a set; missing periods are filled in.
    pub(super) fn set(&mut self, checks: Vec<CheckSpec>) -> Expected {
        self.step(checks, false)
    }

    /// Applies terms that are charged independently.
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

    /// Applies these checks as they are, with or without periods.
    pub(super) fn exactly(&mut self, checks: Vec<CheckSpec>, independent: bool) -> Expected {
        let mut step = Step { at: self.now, independent, checks, expect: None };
        let answer = self.oracle.step(&step);
        step.expect = Some(answer.clone());
        self.case.steps.push(step);
        answer
    }

    /// Returns the index of the last step, for settling its receipts.
    pub(super) fn last(&self) -> usize {
        self.case.steps.len() - 1
    }

    /// Returns the finished case.
    pub(super) fn done(self) -> Case {
        self.case
    }
}

fn check(limit: &str, ask: AskSpec) -> CheckSpec {
    let (limit, key) = (limit.to_owned(), "alice".to_owned());
    CheckSpec { limit, key, ask, or: false, period: None }
}

/// Takes exactly this many units.
pub(super) fn take(limit: &str, units: u64) -> CheckSpec {
    up_to(limit, units, units)
}

/// Takes nothing.
pub(super) fn peek(limit: &str) -> CheckSpec {
    take(limit, 0)
}

/// Takes between `least` and `most`.
pub(super) fn up_to(limit: &str, least: u64, most: u64) -> CheckSpec {
    check(limit, AskSpec::Take { least, most, patience_us: None })
}

/// Takes exactly this many units, with patience.
pub(super) fn patient(limit: &str, units: u64, patience: u64) -> CheckSpec {
    let patience_us = Some(patience);
    check(limit, AskSpec::Take { least: units, most: units, patience_us })
}

/// Charges units that were already used.
pub(super) fn charge(limit: &str, units: u64) -> CheckSpec {
    check(limit, AskSpec::Charge { units })
}

/// Refunds units without a receipt.
pub(super) fn refund(limit: &str, units: u64) -> CheckSpec {
    check(limit, AskSpec::Refund { units })
}

/// Settles the receipt of the first check of a step.
pub(super) fn settle(limit: &str, step: usize, actual: u64) -> CheckSpec {
    check(limit, AskSpec::Settle { step, check: 0, actual })
}

/// Settles the receipt of a check of a step.
pub(super) fn settle_of(limit: &str, step: usize, of: usize, actual: u64) -> CheckSpec {
    check(limit, AskSpec::Settle { step, check: of, actual })
}

/// Renews the hold of the first check of a step.
pub(super) fn renew(limit: &str, step: usize) -> CheckSpec {
    check(limit, AskSpec::Renew { step, check: 0 })
}

/// Declares that the quota was another before.
pub(super) fn rescale(limit: &str, from: QuotaSpec, id: u64) -> CheckSpec {
    check(limit, AskSpec::Rescale { from, id })
}

/// Makes the cell vacant.
pub(super) fn reset(limit: &str) -> CheckSpec {
    check(limit, AskSpec::Reset)
}

impl CheckSpec {
    /// Returns the check for another key.
    pub(super) fn of(self, key: &str) -> CheckSpec {
        CheckSpec { key: key.to_owned(), ..self }
    }

    /// Returns the check as an alternative to the one before.
    pub(super) fn or(self) -> CheckSpec {
        CheckSpec { or: true, ..self }
    }

    /// Returns the check with this period.
    pub(super) fn during(self, start: u64, end: u64) -> CheckSpec {
        CheckSpec { period: Some((start, end)), ..self }
    }
}

impl AlgorithmSpec {
    /// Returns the limit with or without debt.
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
