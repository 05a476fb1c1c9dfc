//! Replays traces on a subject and compares every answer with the expected one.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use sluicegate_core::{
    ChargeId, Check, Cooldown, Cost, Decision, Escalation, Limit, Operation, Period, Quota,
    Receipt, Refusal, Ruling, Set, Slices, Span, Time,
};
use sluicegate_oracle::trace::{
    AlgorithmSpec, AskSpec, BucketSpec, Case, CheckSpec, Expected, ExpectedDecision, LimitSpec,
    QuotaSpec, Reason, Step, VectorFile,
};

use crate::subject::Subject;

/// Replays every case of every vector file on a new subject; returns the number of steps.
pub fn vectors<S: Subject>(mut make: impl FnMut() -> S) -> usize {
    let mut steps = 0;
    for path in vector_paths() {
        let text = std::fs::read_to_string(&path).expect("vectors can be read");
        let file: VectorFile = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &file.cases {
            replay_case(&mut make(), case, &path);
            steps += case.steps.len();
        }
    }
    assert!(steps > 0, "there are vectors");
    steps
}

/// The vector files of this repository.
pub fn vector_paths() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let entries = std::fs::read_dir(&folder).expect("there is a folder of vectors");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    paths
}

fn replay_case(subject: &mut impl Subject, case: &Case, path: &Path) {
    let mut replay = VectorReplay::new(&case.limits);
    for (index, step) in case.steps.iter().enumerate() {
        let found = replay.step(subject, step);
        let expected = step.expect.as_ref().expect("a vector says what it expects");
        let json = |answer| serde_json::to_string(answer).expect("answers are JSON");
        assert!(
            found == *expected,
            "{}, case {}, step {index} at {}:\nexpected {}\nfound    {}",
            path.display(),
            case.name,
            step.at,
            json(expected),
            json(&found),
        );
    }
}

/// A trace during its replay: its limits, and the receipts so far.
#[derive(Debug)]
pub struct VectorReplay {
    limits: HashMap<String, Limit>,
    receipts: HashMap<(usize, usize), Receipt>,
    steps: usize,
}

impl VectorReplay {
    /// Starts a replay.
    pub fn new(limits: &BTreeMap<String, LimitSpec>) -> Self {
        let limits = limits.iter().map(|(handle, spec)| (handle.clone(), limit(spec))).collect();
        Self { limits, receipts: HashMap::new(), steps: 0 }
    }

    /// Drops the receipts of steps before this one.
    pub fn forget_receipts_before(&mut self, step: usize) {
        self.receipts.retain(|(made, _), _| *made >= step);
    }

    /// Applies one step and returns the result in the oracle's format.
    pub fn step(&mut self, subject: &mut impl Subject, step: &Step) -> Expected {
        let checks: Vec<Check<'_>> = step.checks.iter().map(|spec| self.check(spec)).collect();
        let id = ChargeId::from_bits((self.steps as u128) << 8);
        let set =
            if step.independent { Set::independent(&checks, id) } else { Set::all(&checks, id) };
        let (ruling, decisions) = subject.apply(Time::from_micros(step.at), &set);
        for (index, decision) in decisions.iter().enumerate() {
            if let Some(receipt) = decision.as_ref().and_then(Decision::receipt) {
                self.receipts.insert((self.steps, index), *receipt);
            }
        }
        self.steps += 1;
        match ruling {
            Ruling::Stale => Expected { stale: true, admitted: false, decisions: Vec::new() },
            ruling => Expected {
                stale: false,
                admitted: ruling == Ruling::Admitted,
                decisions: decisions.into_iter().map(|found| found.map(expected)).collect(),
            },
        }
    }

    fn check<'a>(&'a self, spec: &'a CheckSpec) -> Check<'a> {
        let mut check = Check::new(&self.limits[&spec.limit], &spec.key)
            .with_operation(self.operation(&spec.ask));
        if let AskSpec::Take { patience_us: Some(micros), .. } = spec.ask {
            check = check.with_max_delay(Span::from_micros(micros));
        }
        if spec.or {
            check = check.or_else();
        }
        if let Some((start, end)) = spec.period {
            let period = Period::new(Time::from_micros(start), Time::from_micros(end));
            check = check.within(period.expect("a period in a trace is not empty"));
        }
        check
    }

    fn operation(&self, spec: &AskSpec) -> Operation {
        let cost = |units| Cost::new(units).expect("a cost in a trace fits");
        match *spec {
            AskSpec::Take { least, most, .. } => Operation::up_to(cost(most), cost(least)),
            AskSpec::Charge { units } => Operation::Charge(cost(units)),
            AskSpec::Refund { units } => Operation::Refund(cost(units)),
            AskSpec::Settle { step, check, actual } => {
                Operation::Settle { receipt: self.receipts[&(step, check)], actual: cost(actual) }
            }
            AskSpec::Renew { step, check } => Operation::Renew(self.receipts[&(step, check)]),
            AskSpec::Rescale { from, id } => {
                // Different from the ids of sets, which are numbered from 0.
                Operation::Rescale {
                    from: quota(&from),
                    id: ChargeId::from_bits(1 << 127 | u128::from(id)),
                }
            }
            AskSpec::Reset => Operation::Reset,
        }
    }
}

fn quota(spec: &QuotaSpec) -> Quota {
    let quota = match spec.period_us {
        0 => Quota::per_months(spec.amount, 1),
        micros => Quota::new(spec.amount, Span::from_micros(micros)),
    };
    quota.and_then(|quota| quota.with_burst(spec.burst)).expect("a quota in a trace is possible")
}

/// Returns the limit that a trace describes.
pub fn limit(spec: &LimitSpec) -> Limit {
    let name = spec.name.clone();
    let quota = |amount, period_us| {
        Quota::new(amount, Span::from_micros(period_us)).expect("a quota in a trace is possible")
    };
    let bucket = |spec: &BucketSpec| {
        quota(spec.amount, spec.period_us).with_burst(spec.burst).expect("so is its burst")
    };
    let (limit, debt) = match &spec.algorithm {
        AlgorithmSpec::TokenBucket(spec) => (Limit::token_bucket(name, bucket(spec)), spec.debt),
        AlgorithmSpec::LeakyBucket(spec) => (Limit::leaky_bucket(name, bucket(spec)), spec.debt),
        AlgorithmSpec::Queue(spec) => (Limit::queue(name, bucket(spec)), spec.debt),
        AlgorithmSpec::FixedWindow { amount, debt, .. } => {
            // The period comes with each check; the nominal one is irrelevant.
            (Limit::fixed_window(name, quota(*amount, 1_000_000)), *debt)
        }
        AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict, debt } => {
            let count = u32::try_from(*slices).expect("few slices");
            let slices = if *strict { Slices::Strict(count) } else { Slices::Weighted(count) };
            (Limit::sliding_window(name, quota(*amount, *period_us), slices), *debt)
        }
        AlgorithmSpec::SlidingLog { amount, period_us, debt } => {
            (Limit::sliding_log(name, quota(*amount, *period_us)), *debt)
        }
        AlgorithmSpec::Concurrency { slots, lease_us } => {
            let slots = u32::try_from(*slots).expect("few slots");
            (Limit::concurrency(name, slots, Span::from_micros(*lease_us)), true)
        }
        AlgorithmSpec::Cooldown {
            after,
            within_us,
            block_us,
            escalation,
            pending_us,
            reset_on_success,
        } => {
            let escalation = escalation.map(|spec| Escalation {
                factor: u32::try_from(spec.factor).expect("a small factor"),
                max: Span::from_micros(spec.max_us),
            });
            let cooldown = Cooldown {
                after: *after,
                within: Span::from_micros(*within_us),
                block: Span::from_micros(*block_us),
                escalation,
                pending: pending_us.map(Span::from_micros),
                reset_on_success: *reset_on_success,
            };
            (Limit::cooldown(name, cooldown), true)
        }
    };
    let limit = limit.unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    if debt { limit } else { limit.without_debt() }
}

fn expected(decision: Decision) -> ExpectedDecision {
    ExpectedDecision {
        allowed: decision.is_allowed(),
        granted: decision.granted(),
        limit: decision.limit(),
        remaining: decision.remaining(),
        retry_after_us: decision.retry_after().map(Span::as_micros),
        reset_after_us: decision.reset_after().as_micros(),
        delay_us: decision.delay().as_micros(),
        reason: decision.refusal().map(reason),
        receipt: decision.receipt().is_some(),
    }
}

fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::Exhausted { .. } => Reason::Exhausted,
        Refusal::Blocked { .. } => Reason::Blocked,
        Refusal::Busy => Reason::Busy,
        Refusal::CostAboveLimit => Reason::CostAboveLimit,
        Refusal::Spent => Reason::Spent,
        Refusal::Lost => Reason::Lost,
        Refusal::Unreachable => panic!("a store in a test is there"),
    }
}
