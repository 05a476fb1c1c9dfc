//! The oracle keeps the guarantees of the limits, on random walks.

use super::*;
use crate::Oracle;

/// Follows a walk with the oracle.
fn follow(seed: u64, steps: usize, mut each: impl FnMut(&Walk, &Step, &Expected)) {
    let mut walk = Walk::new(seed);
    let mut oracle = Oracle::new(walk.limits());
    let mut last = None;
    for index in 0..steps {
        let step = walk.next_step(last.as_ref());
        let answer = oracle.step(&step);
        oracle.forget_receipts_before(index.saturating_sub(RECEIPT_REACH));
        each(&walk, &step, &answer);
        last = Some(answer);
    }
}

#[test]
fn walks_are_reproducible() {
    for seed in 0..20 {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        follow(seed, 200, |_, step, answer| first.push((step.clone(), answer.clone())));
        follow(seed, 200, |_, step, answer| second.push((step.clone(), answer.clone())));
        assert_eq!(first, second);
    }
}

#[test]
fn answers_are_consistent_in_themselves() {
    for seed in 0..300 {
        follow(seed, 400, |_, step, answer| {
            assert!((EARLIEST..=LATEST).contains(&step.at));
            for decision in answer.decisions.iter().flatten() {
                assert_eq!(decision.allowed, decision.reason.is_none());
                assert!(decision.allowed || decision.granted == 0);
                assert!(decision.retry_after_us.is_none_or(|wait| wait >= 1 && !decision.allowed));
                assert!(decision.remaining <= decision.limit);
                assert!(answer.admitted || step.independent || !decision.receipt);
            }
        });
    }
}

#[test]
fn walks_cover_all_operations() {
    let mut met: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..400 {
        follow(seed, 300, |walk, step, answer| {
            let mut count = |what: String| *met.entry(what).or_default() += 1;
            if answer.stale {
                count("stale".to_owned());
            }
            for (check, decision) in step.checks.iter().zip(&answer.decisions) {
                let Some(decision) = decision else {
                    count("not asked".to_owned());
                    continue;
                };
                count(format!("{:?}", decision.reason));
                let waits_in_debt = decision.delay_us > 0 && decision.remaining == 0;
                if waits_in_debt {
                    count("delay".to_owned());
                }
                match check.ask {
                    AskSpec::Settle { .. } if decision.allowed => count("settled".to_owned()),
                    AskSpec::Renew { .. } if decision.allowed => count("renewed".to_owned()),
                    AskSpec::Rescale { .. } if decision.remaining < decision.limit => {
                        count("rescaled".to_owned());
                    }
                    AskSpec::Charge { units } if decision.granted < units => {
                        count("capped".to_owned());
                    }
                    AskSpec::Refund { units } if decision.granted > 0 => {
                        let part = decision.granted < units;
                        let sort = self::sort(&walk.limits[&check.limit].algorithm);
                        count(format!("{sort} {}", if part { "partly" } else { "refunded" }));
                    }
                    _ => {}
                }
            }
        });
    }
    for what in [
        "stale",
        "not asked",
        "delay",
        "settled",
        "renewed",
        "rescaled",
        "capped",
        "None",
        "Some(Exhausted)",
        "Some(CostAboveLimit)",
        "Some(Busy)",
        "Some(Blocked)",
        "Some(Spent)",
        "Some(Lost)",
    ] {
        assert!(met.get(what).is_some_and(|times| *times > 20), "{what}: {met:?}");
    }
    for sort in ["bucket", "queue", "fixed window", "sliding window", "sliding log"] {
        for what in ["refunded", "partly"] {
            let what = format!("{sort} {what}");
            assert!(met.get(&what).is_some_and(|times| *times > 20), "{what}: {met:?}");
        }
    }
    println!("{met:?}");
}

fn sort(algorithm: &AlgorithmSpec) -> &'static str {
    match algorithm {
        AlgorithmSpec::TokenBucket(_) | AlgorithmSpec::LeakyBucket(_) => "bucket",
        AlgorithmSpec::Queue(_) => "queue",
        AlgorithmSpec::FixedWindow { .. } => "fixed window",
        AlgorithmSpec::SlidingWindow { .. } => "sliding window",
        AlgorithmSpec::SlidingLog { .. } => "sliding log",
        AlgorithmSpec::Concurrency { .. } => "concurrency",
        AlgorithmSpec::Cooldown { .. } => "cooldown",
    }
}

/// Over any span of time no more is granted than the limit's bound, while the clock only goes
/// forward and without refunds or resets.
#[test]
fn buckets_and_logs_keep_their_envelope() {
    let mut spans = 0_u64;
    for seed in 0..1500 {
        let mut walk = Walk::new(seed);
        let Some((handle, spec)) = walk.limits.clone().into_iter().next() else { continue };
        let mut oracle = Oracle::new(walk.limits());
        let mut grants: Vec<(u64, u64)> = Vec::new();
        let mut last: Option<Expected> = None;
        for _ in 0..150 {
            if let Some(previous) = &last {
                let step = walk.previous.clone().expect("there was a step");
                walk.learn(&step, previous);
            }
            let before = walk.now;
            walk.move_time();
            walk.now = walk.now.max(before);
            let units = walk.rng.between(0, spec.algorithm.nominal_capacity());
            let ask = AskSpec::Take { least: units, most: units, patience_us: None };
            let (limit, key) = (handle.clone(), "a".to_owned());
            let period = None;
            let check = CheckSpec { limit, key, ask, or: false, period };
            let step = Step { at: walk.now, independent: false, checks: vec![check], expect: None };
            if matches!(spec.algorithm, AlgorithmSpec::FixedWindow { .. }) {
                break;
            }
            let answer = oracle.step(&step);
            walk.steps += 1;
            if answer.admitted && units > 0 {
                grants.push((step.at, units));
            }
            walk.previous = Some(step);
            last = Some(answer);
        }
        for (from, &(start, _)) in grants.iter().enumerate() {
            let mut sum = 0_u128;
            for &(end, units) in &grants[from..] {
                sum += u128::from(units);
                let span = u128::from(end - start);
                match &spec.algorithm {
                    AlgorithmSpec::TokenBucket(b) | AlgorithmSpec::LeakyBucket(b) => {
                        // granted <= burst + span * amount / period
                        let (amount, period) = (u128::from(b.amount), u128::from(b.period_us));
                        assert!(sum * period <= u128::from(b.burst) * period + span * amount);
                        spans += 1;
                    }
                    AlgorithmSpec::SlidingLog { amount, period_us, .. }
                        if span < u128::from(*period_us) =>
                    {
                        assert!(sum <= u128::from(*amount));
                        spans += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(spans > 50_000, "only {spans} spans were looked at");
}

/// A retry exactly after the wait is admitted, and at any time before it is refused.
#[test]
fn waits_are_tight() {
    let mut looked_at = 0;
    for seed in 0..500 {
        let mut trace: Vec<Step> = Vec::new();
        let mut refusals: Vec<(usize, u64)> = Vec::new();
        let mut limits = BTreeMap::new();
        follow(seed, 40, |walk, step, answer| {
            limits.clone_from(walk.limits());
            if let ([Some(decision)], [_]) = (&answer.decisions[..], &step.checks[..]) {
                refusals.extend(decision.retry_after_us.map(|wait| (trace.len(), wait)));
            }
            trace.push(step.clone());
        });
        let mut rng = Rng::new(seed);
        for (index, wait) in refusals {
            let is_fixed = trace[index].checks[0].period.is_some();
            if is_fixed && limits.keys().any(|handle| handle.ends_with("_changed")) {
                // The wait refers to the period in force at the refusal.
                continue;
            }
            for after in [wait, wait - 1, 1, wait / 2, rng.below(wait)] {
                if after == 0 {
                    continue;
                }
                let mut oracle = Oracle::new(&limits);
                for step in &trace[..=index] {
                    oracle.step(step);
                }
                let mut again = trace[index].clone();
                again.at += after;
                let check = &mut again.checks[0];
                check.period = limits[&check.limit].algorithm.period_of(again.at);
                let allowed = oracle.step(&again).decisions[0].expect("was asked").allowed;
                assert_eq!(allowed, after >= wait, "seed {seed}, step {index}, after {after}");
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 5_000, "only {looked_at} waits were looked at");
}
