//! Random traces close to the edges, for comparisons of implementations.

mod changes;
mod quotas;

use std::collections::{BTreeMap, VecDeque};

use self::changes::Changes;
use crate::trace::{AlgorithmSpec, AskSpec, CheckSpec, Expected, LimitSpec, Step};
use sluicegate_testkit::Rng;

/// The most steps that a settle or renew may reach back.
pub const RECEIPT_REACH: usize = 64;

const EARLIEST: u64 = 1_000_000_000_000_000;
const LATEST: u64 = 4_000_000_000_000_000;
const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3600 * SECOND;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// A receipt that a later step may refer to.
#[derive(Clone, Debug)]
struct Open {
    step: usize,
    check: usize,
    name: String,
    key: String,
    units: u64,
    settled: bool,
}

/// A random trace: limits once, then step after step, each depending on the last answer.
pub struct Walk {
    rng: Rng,
    limits: BTreeMap<String, LimitSpec>,
    handles: Vec<String>,
    keys: u64,
    now: u64,
    steps: usize,
    previous: Option<Step>,
    open: VecDeque<Open>,
    /// Waits named by the last answers, which are worth hitting exactly.
    hints: Vec<u64>,
    changes: Changes,
    /// Whether time only goes forward.
    forward: bool,
}

impl Walk {
    /// The walk of this seed.
    pub fn new(seed: u64) -> Walk {
        let mut rng = Rng::new(seed);
        let limits = quotas::limits(&mut rng);
        let handles = limits.keys().cloned().collect();
        let keys = rng.between(1, 3);
        let now = rng.between(EARLIEST + 200_000_000_000_000, EARLIEST + 900_000_000_000_000);
        Walk {
            rng,
            limits,
            handles,
            keys,
            now,
            steps: 0,
            previous: None,
            open: VecDeque::new(),
            hints: Vec::new(),
            changes: Changes::default(),
            forward: false,
        }
    }

    /// The walk of this seed on which time only goes forward and limits stay what they are.
    pub fn steady(seed: u64) -> Walk {
        let mut walk = Walk { forward: true, ..Walk::new(seed) };
        walk.handles.retain(|handle| walk.limits[handle].name == *handle);
        walk
    }

    /// The limits of this walk.
    pub fn limits(&self) -> &BTreeMap<String, LimitSpec> {
        &self.limits
    }

    /// Returns the next step, given the previous answer (`None` before the first).
    pub fn next_step(&mut self, last: Option<&Expected>) -> Step {
        if let (Some(previous), Some(last)) = (self.previous.take(), last) {
            self.learn(&previous, last);
        }
        self.move_time();
        let step = self.make_step();
        self.steps += 1;
        self.previous = Some(step.clone());
        step
    }

    /// Records the receipts and the waits of an answer.
    fn learn(&mut self, step: &Step, answer: &Expected) {
        self.hints.clear();
        let index = self.steps - 1;
        for (at, decision) in answer.decisions.iter().enumerate() {
            let Some(decision) = decision else { continue };
            self.hints.extend(decision.retry_after_us);
            self.hints.extend([decision.reset_after_us, decision.delay_us]);
            let check = &step.checks[at];
            if decision.receipt {
                let name = self.limits[&check.limit].name.clone();
                let key = check.key.clone();
                let units = decision.granted;
                self.open.push_back(Open {
                    step: index,
                    check: at,
                    name,
                    key,
                    units,
                    settled: false,
                });
            }
            if let AskSpec::Settle { step, check, .. } = check.ask {
                // A settle that was rolled back counts too: it only makes a second one rarer.
                for open in self.open.iter_mut().filter(|o| (o.step, o.check) == (step, check)) {
                    open.settled = true;
                }
            }
        }
        self.hints.retain(|&hint| hint > 0);
        while self.open.front().is_some_and(|open| open.step + RECEIPT_REACH <= self.steps) {
            self.open.pop_front();
        }
    }

    fn move_time(&mut self) {
        let rng = &mut self.rng;
        let hint = if self.hints.is_empty() { None } else { Some(*rng.pick(&self.hints)) };
        let period = self.limits[rng.pick(&self.handles)].algorithm.nominal_period();
        let forward = match rng.below(100) {
            0..30 => 0,
            30..38 => 1,
            38..60 => hint.unwrap_or(1),
            60..68 => hint.map_or(0, |hint| hint - 1),
            68..70 => hint.unwrap_or(0) + 1,
            70..80 => rng.below(period / 16 + 2),
            80..90 => rng.below(period + 2),
            90..94 => rng.below(2 * SECOND),
            94..96 => period,
            _ if self.forward => 0,
            _ => return self.move_back(),
        };
        // A jump over months empties every cell, so it is rare.
        let rare = forward > 40 * DAY && !rng.one_in(20);
        self.now += if rare { forward % SECOND } else { forward };
        if rng.one_in(4000) {
            self.now += YEAR;
        }
        if self.now > LATEST - 2 * YEAR {
            self.now = EARLIEST + 200_000_000_000_000 + rng.below(YEAR);
            self.forget_settled();
        }
    }

    fn move_back(&mut self) {
        let rng = &mut self.rng;
        let back = match rng.below(100) {
            0..30 => 1,
            30..60 => rng.between(1, 1000),
            60..80 => rng.between(1, SECOND - 1),
            80..85 => SECOND,
            85..90 => SECOND + 1,
            90..98 => rng.between(SECOND, 2 * SECOND),
            98 => rng.between(SECOND, 5 * HOUR),
            _ => rng.between(SECOND, 400 * DAY),
        };
        self.now -= back.min(self.now - EARLIEST);
        self.forget_settled();
    }

    /// Drops settled receipts. A settlement is dropped once it cannot matter any more; so when the
    /// clock goes back, a second settlement is ambiguous, as is a change of tier.
    fn forget_settled(&mut self) {
        self.open.retain(|open| !open.settled);
        self.changes.forget();
    }

    fn make_step(&mut self) -> Step {
        let count = match self.rng.below(100) {
            0..65 => 1,
            65..83 => 2,
            83..93 => 3,
            93..97 => 4,
            _ => 5,
        };
        let mut checks: Vec<CheckSpec> = Vec::new();
        // One definition per name in a set: two quotas of one cell at one time are contradictory.
        let mut handles: BTreeMap<String, String> = BTreeMap::new();
        for index in 0..count {
            // A change of tier mostly comes before an operation on the same counter.
            let told =
                checks.last().is_some_and(|last| matches!(last.ask, AskSpec::Rescale { .. }));
            let repeat = told || index > 0 && self.rng.one_in(4);
            let settles = !self.open.is_empty() && self.rng.one_in(7);
            let mut check = if settles {
                self.settle_check(&handles)
            } else {
                let handle = self.rng.pick(&self.handles).clone();
                let handle = handles.get(&self.limits[&handle].name).cloned().unwrap_or(handle);
                let key = self.key();
                let (limit, key) = match checks.last() {
                    Some(last) if repeat => (last.limit.clone(), last.key.clone()),
                    _ => (handle, key),
                };
                let ask = self.ask(&limit, &key);
                CheckSpec { limit, key, ask, or: false, period: None }
            };
            let name = self.limits[&check.limit].name.clone();
            handles.insert(name, check.limit.clone());
            check.or = index > 0 && self.rng.one_in(5);
            check.period = self.limits[&check.limit].algorithm.period_of(self.now);
            if check.period.is_some() && self.rng.one_in(300) {
                // A caller that computed its period too early, or not at all.
                check.period = check.period.map(|(start, _)| (start - SECOND, start));
            }
            checks.push(check);
        }
        let independent = count > 1 && self.rng.one_in(8);
        Step { at: self.now, independent, checks, expect: None }
    }

    fn key(&mut self) -> String {
        let letters = ["a", "b", "c"];
        let index = usize::try_from(self.rng.below(self.keys)).unwrap_or(0);
        letters[index].to_owned()
    }

    /// A settle or a renewal of a recent receipt.
    fn settle_check(&mut self, used: &BTreeMap<String, String>) -> CheckSpec {
        // The most recent ones still matter.
        let reach = if self.rng.one_in(3) { self.open.len() } else { self.open.len().min(4) };
        let index = self.rng.below(reach as u64);
        let open = self.open[self.open.len() - 1 - usize::try_from(index).unwrap_or(0)].clone();
        let candidates: Vec<&String> =
            self.handles.iter().filter(|handle| self.limits[*handle].name == open.name).collect();
        let limit = match used.get(&open.name) {
            Some(handle) => handle.clone(),
            None => (*self.rng.pick(&candidates)).clone(),
        };
        let holds = matches!(self.limits[&limit].algorithm, AlgorithmSpec::Concurrency { .. });
        let Open { step, check, units, .. } = open;
        let ask = if holds && self.rng.one_in(3) {
            AskSpec::Renew { step, check }
        } else {
            let actual = match self.rng.below(10) {
                0..5 => 0,
                5..8 => self.rng.below(units + 1),
                8 => units,
                _ => units + self.rng.between(1, units + 3),
            };
            AskSpec::Settle { step, check, actual }
        };
        CheckSpec { limit, key: open.key, ask, or: false, period: None }
    }

    fn ask(&mut self, handle: &str, key: &str) -> AskSpec {
        let tiers = self.limits[handle].algorithm.quota().is_some();
        if self.rng.one_in(if tiers { 8 } else { 60 }) {
            return self.changes.next(&mut self.rng, &self.limits, (handle, key));
        }
        let capacity = self.limits[handle].algorithm.nominal_capacity();
        let cools = matches!(self.limits[handle].algorithm, AlgorithmSpec::Cooldown { .. });
        let hint = if self.hints.is_empty() { 1 } else { *self.rng.pick(&self.hints) };
        let rng = &mut self.rng;
        let tries = matches!(
            self.limits[handle].algorithm,
            AlgorithmSpec::Cooldown { pending_us: Some(_), .. }
        );
        let charges = if tries {
            30
        } else if cools {
            55
        } else {
            12
        };
        let roll = rng.below(100);
        if roll == 0 {
            return AskSpec::Reset;
        }
        if roll < charges {
            let units = if cools { rng.below(3) } else { amount(rng, capacity * 2) };
            return AskSpec::Charge { units };
        }
        if rng.one_in(if tries { 4 } else { 9 }) {
            return AskSpec::Refund { units: amount(rng, capacity * 2) };
        }
        let least = amount(rng, capacity);
        let most = if rng.one_in(4) { least + amount(rng, capacity) } else { least };
        let patience_us = rng.one_in(5).then(|| match rng.below(5) {
            0 => 0,
            1 => hint,
            2 => hint - 1,
            3 => rng.below(hint * 2 + 2),
            _ => rng.below(10 * SECOND),
        });
        AskSpec::Take { least, most, patience_us }
    }
}

/// Returns a number of units around the edges of this capacity.
fn amount(rng: &mut Rng, capacity: u64) -> u64 {
    match rng.below(20) {
        0..2 => 0,
        2..11 => 1,
        11..16 => rng.between(1, capacity.max(1)),
        16 => capacity,
        17 => capacity + 1,
        18 => capacity.saturating_sub(1),
        _ => capacity / 2 + 1,
    }
}

#[cfg(test)]
mod tests;
