//! The oracle: applies steps to cells, one literal rule at a time.

mod cell;
mod concurrency;
mod cooldown;
mod fixed_window;
mod meter;
mod receipt;
mod rule;
mod search;
mod set;
mod sliding_log;
mod sliding_window;

use std::collections::{BTreeMap, HashMap};

use self::cell::{Cell, CellName, When};
use self::concurrency::Concurrency;
use self::cooldown::Cooldown;
use self::fixed_window::FixedWindow;
use self::meter::Meter;
use self::receipt::{Receipt, ReceiptId};
use self::rule::Rule;
use self::search::largest_fit;
use self::set::Set;
use self::sliding_log::SlidingLog;
use self::sliding_window::SlidingWindow;
use crate::ratio::Ratio;
use crate::trace::{AlgorithmSpec, AskSpec, CheckSpec, Expected, LimitSpec, Step};

/// A limit with its rule.
struct Limit {
    name: String,
    rule: Box<dyn Rule>,
    needs_period: bool,
}

/// All cells and receipts, and the limits that read them.
pub struct Oracle {
    limits: BTreeMap<String, Limit>,
    cells: HashMap<CellName, Cell>,
    receipts: BTreeMap<ReceiptId, Receipt>,
    /// The changes of tier that were made, and until when they are stored.
    rescaled: HashMap<u64, u64>,
    steps: usize,
}

/// A cell, and the time at which it is read.
#[derive(Clone, Copy, Debug)]
pub struct CellAt<'a> {
    /// The handle of its limit.
    pub limit: &'a str,
    /// The key of the counter.
    pub key: &'a str,
    /// The time, in microseconds.
    pub now: u64,
    /// The period that contains the time; fixed windows only.
    pub period: Option<(u64, u64)>,
}

impl CellAt<'_> {
    fn when(&self) -> When {
        When { now: self.now, period: self.period }
    }
}

/// The shortest time that a change of tier is stored, in microseconds.
const REMEMBERED: u64 = 60_000_000;

impl Oracle {
    /// An oracle for these limits, with every cell vacant.
    pub fn new(limits: &BTreeMap<String, LimitSpec>) -> Oracle {
        let limits = limits.iter().map(|(handle, spec)| (handle.clone(), limit(spec))).collect();
        let (cells, rescaled) = (HashMap::new(), HashMap::new());
        Oracle { limits, cells, receipts: BTreeMap::new(), rescaled, steps: 0 }
    }

    /// Adds a limit under a handle, unless it exists.
    pub fn define(&mut self, handle: &str, spec: &LimitSpec) {
        if !self.limits.contains_key(handle) {
            self.limits.insert(handle.to_owned(), limit(spec));
        }
    }

    /// Makes the chosen cells vacant, as in a store that lost its data.
    pub fn forget_cells(&mut self, chosen: impl Fn(&str, &str) -> bool) {
        self.cells.retain(|(limit, key), _| !chosen(limit, key));
    }

    /// Applies the next step and returns the expected answer.
    ///
    /// # Panics
    ///
    /// When the step names a limit or a receipt that does not exist.
    pub fn step(&mut self, step: &Step) -> Expected {
        let index = self.steps;
        self.steps += 1;
        if step.checks.iter().any(|check| self.is_stale(check, step.at)) {
            return Expected { stale: true, admitted: false, decisions: Vec::new() };
        }
        for check in &step.checks {
            self.rescale(check, step.at);
        }
        let terms = terms(&step.checks);
        let sets = if step.independent {
            terms.into_iter().map(|t| vec![t]).collect()
        } else {
            vec![terms]
        };
        let mut admitted = true;
        let mut decisions = Vec::new();
        for terms in sets {
            let (set_admitted, set_decisions) = Set::new(self, index, step).decide(terms);
            admitted &= set_admitted;
            decisions.extend(set_decisions);
        }
        Expected { stale: false, admitted, decisions }
    }

    /// Returns the used fraction of a cell in `parts`, rounded up; all of them if no unit is left.
    ///
    /// # Panics
    ///
    /// If the limit is not defined.
    pub fn used_parts(&self, at: &CellAt<'_>, parts: u64) -> u64 {
        let rule = self.limit(at.limit).rule.as_ref();
        let Some(cell) = self.cells.get(&self.name(at)) else { return 0 };
        if !rule.fits(cell, at.when(), 1, rule.capacity()) {
            return parts;
        }
        let used = rule.used(cell, at.when()) * Ratio::new(i128::from(parts), 1);
        (used * Ratio::new(1, i128::from(rule.capacity()))).ceil_u64()
    }

    /// Charges units that were admitted before, without the cell: a bucket may go up to a second
    /// beyond exhausted.
    ///
    /// # Panics
    ///
    /// If the limit is not defined.
    pub fn charge_late(&mut self, at: &CellAt<'_>, units: u64) {
        let (name, when) = (self.name(at), at.when());
        let limit = self.limits.get(at.limit).expect("the limit is defined");
        let cell = self.cells.entry(name).or_default();
        let rule = limit.rule.as_ref();
        rule.correct_clock(cell, when);
        let cap = rule.late_charge_cap();
        let fits = |units: u64| rule.used(cell, when) + Ratio::whole(units) <= cap;
        let charged = largest_fit(units, fits);
        if charged > 0 {
            rule.file(cell, when, charged, (usize::MAX, 0));
        }
    }

    fn name(&self, at: &CellAt<'_>) -> CellName {
        (self.limit(at.limit).name.clone(), at.key.to_owned())
    }

    /// Returns the number of steps applied, which is the index of the next one.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Drops the receipts of earlier steps, which no later step may refer to.
    pub fn forget_receipts_before(&mut self, step: usize) {
        self.receipts = self.receipts.split_off(&(step, 0));
    }

    /// Returns whether that step and check have a receipt.
    pub fn has_receipt(&self, step: usize, check: usize) -> bool {
        self.receipts.contains_key(&(step, check))
    }

    fn limit(&self, handle: &str) -> &Limit {
        self.limits.get(handle).unwrap_or_else(|| panic!("there is no limit {handle:?}"))
    }

    /// Applies the change of tier of a check, if it has one that is not applied yet.
    fn rescale(&mut self, check: &CheckSpec, now: u64) {
        let AskSpec::Rescale { from, id } = check.ask else { return };
        let Limit { name, rule, .. } = self.limit(&check.limit);
        let name = (name.clone(), check.key.clone());
        let Some(to) = rule.meter().copied() else { return };
        let Some(from) = to.under(&from) else { return };
        if self.rescaled.get(&id).is_none_or(|until| *until <= now) {
            let cell = self.cells.entry(name).or_default();
            to.pour_over(&from, cell, When { now, period: None });
        }
        // Each arrival counts: the last of many is stored for as long as the first.
        let longest = from.longest().max(to.longest()).max(REMEMBERED);
        self.rescaled.insert(id, now + longest);
    }

    fn is_stale(&self, check: &CheckSpec, now: u64) -> bool {
        let contains_now = check.period.is_some_and(|(start, end)| (start..end).contains(&now));
        self.limit(&check.limit).needs_period && !contains_now
    }
}

/// Returns the indices of the checks of each term.
fn terms(checks: &[CheckSpec]) -> Vec<Vec<usize>> {
    let mut terms: Vec<Vec<usize>> = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        match terms.last_mut() {
            Some(term) if check.or => term.push(index),
            _ => terms.push(vec![index]),
        }
    }
    terms
}

fn limit(spec: &LimitSpec) -> Limit {
    let rule: Box<dyn Rule> = match spec.algorithm {
        AlgorithmSpec::TokenBucket(bucket) | AlgorithmSpec::LeakyBucket(bucket) => {
            Box::new(Meter::bucket(&bucket))
        }
        AlgorithmSpec::Queue(bucket) => Box::new(Meter::queue(&bucket)),
        AlgorithmSpec::FixedWindow { amount, debt, .. } => Box::new(FixedWindow { amount, debt }),
        AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict, debt } => {
            Box::new(SlidingWindow::new(amount, period_us, slices, strict, debt))
        }
        AlgorithmSpec::SlidingLog { amount, period_us, debt } => {
            Box::new(SlidingLog { amount, period: period_us, debt })
        }
        AlgorithmSpec::Concurrency { slots, lease_us } => {
            Box::new(Concurrency { slots, lease: lease_us })
        }
        AlgorithmSpec::Cooldown {
            after,
            within_us,
            block_us,
            escalation,
            pending_us,
            reset_on_success,
        } => {
            let (within, block, pending) = (within_us, block_us, pending_us);
            Box::new(Cooldown { after, within, block, escalation, pending, reset_on_success })
        }
    };
    let needs_period = matches!(spec.algorithm, AlgorithmSpec::FixedWindow { .. });
    Limit { name: spec.name.clone(), rule, needs_period }
}

#[cfg(test)]
mod tests;
