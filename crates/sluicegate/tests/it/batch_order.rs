//! Batches: every plan is decided as if the plans had been sent one after another.

use std::time::Duration;

use sluicegate::{
    Batch, Check, CheckError, Cost, Decision, Limit, Limiter, ManualClock, Memory, Plan, Store,
    Time, Verdict,
};
use sluicegate_testkit::Rng;
use sluicegate_testkit::block_on;

/// 2026-11-01 at midnight in UTC.
const MIDNIGHT: Time = Time::from_micros(1_793_491_200_000_000);

fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

fn window(name: &'static str, quota: &str) -> Limit {
    Limit::fixed_window(name, quota.parse().unwrap()).unwrap()
}

fn plan<'a>(checks: &[(&'a Limit, &'a str)]) -> Plan<'a> {
    let mut plan = Plan::new();
    for (limit, key) in checks {
        plan.require(Check::new(limit, *key));
    }
    plan
}

/// A store whose clock differs from the one that the limiter reads.
struct SkewedStore {
    memory: Memory<ManualClock>,
    read_by_limiter: ManualClock,
}

impl Store for SkewedStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        &self.read_by_limiter
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        self.memory.apply(batch).await
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

fn skewed() -> Limiter<SkewedStore> {
    let at = |time| ManualClock::at(time);
    // The limiter computes the period of the day before; the store refuses it as stale.
    let before = Time::from_micros(MIDNIGHT.as_micros() - 1);
    let (memory, read_by_limiter) = (Memory::with_clock(at(MIDNIGHT)), at(before));
    Limiter::new(SkewedStore { memory, read_by_limiter })
}

fn allowed(verdicts: &[Result<Verdict, CheckError>]) -> Vec<bool> {
    verdicts.iter().map(|verdict| verdict.as_ref().unwrap().is_allowed()).collect()
}

#[test]
fn a_plan_with_a_calendar_window_keeps_its_place_in_a_batch() {
    let (total, daily) = (bucket("total", "2/min"), window("daily", "5/day"));
    let plans = [
        plan(&[(&total, "all"), (&daily, "export")]),
        plan(&[(&total, "all")]),
        plan(&[(&total, "all")]),
    ];
    let limiter = Limiter::new(Memory::with_clock(ManualClock::at(MIDNIGHT)));
    assert_eq!(allowed(&limiter.check_batch(&plans).now()), [true, true, false]);
    assert_eq!(
        allowed(&block_on(skewed().check_batch(&plans).into_future())),
        [true, true, false],
        "stale"
    );
}

#[test]
fn a_plan_that_cannot_be_decided_charges_nothing_and_stops_no_other() {
    let (total, daily) = (bucket("total", "2/min"), window("daily", "5/day"));
    let long = "x".repeat(Limiter::<Memory>::MAX_KEY + 1);
    let plans = [
        plan(&[(&total, "all")]),
        plan(&[(&total, "all"), (&daily, &long)]),
        plan(&[(&daily, "export"), (&total, "all")]),
        Plan::new(),
        plan(&vec![(&total, "all"); 65]),
        plan(&[(&total, "all")]),
    ];
    let limiter = Limiter::new(Memory::with_clock(ManualClock::at(MIDNIGHT)));
    let verdicts = limiter.check_batch(&plans).now();
    assert!(matches!(verdicts[1], Err(CheckError::KeyTooLong { .. })), "{:?}", verdicts[1]);
    assert!(matches!(verdicts[4], Err(CheckError::TooManyChecks { .. })), "{:?}", verdicts[4]);
    let decided = [&verdicts[0], &verdicts[2], &verdicts[3], &verdicts[5]];
    let decided = decided.map(|verdict| verdict.as_ref().unwrap().is_allowed());
    assert_eq!(decided, [true, true, true, false]);
}

#[test]
fn a_batch_is_decided_as_its_plans_one_by_one() {
    let limits = [
        bucket("total", "6/min burst 4"),
        window("daily", "9/day"),
        window("monthly", "20/month"),
        Limit::sliding_log("log", "3/min".parse().unwrap()).unwrap(),
    ];
    let keys = ["a", "b"];
    for seed in 0..60 {
        let mut random = Rng::new(seed);
        let clock = ManualClock::at(MIDNIGHT);
        let [together, alone] = [(); 2].map(|()| Limiter::new(Memory::with_clock(clock.clone())));
        let (skewed, ticks) = (skewed(), seed % 2 == 0);
        for round in 0..8 {
            let plans: Vec<Plan<'_>> = (0..random.index(40))
                .map(|_| {
                    let mut plan = Plan::new();
                    for _ in 0..random.index(4) {
                        let check = Check::new(&limits[random.index(4)], keys[random.index(2)]);
                        plan.require(
                            check.cost([Cost::ZERO, Cost::ONE, Cost::from(2)][random.index(3)]),
                        );
                    }
                    plan
                })
                .collect();
            let batch = together.check_batch(&plans).now();
            let single: Vec<_> = plans.iter().map(|plan| alone.check_plan(plan).now()).collect();
            assert_eq!(shown(&batch), shown(&single), "seed {seed}, round {round}");
            if round == 0 {
                let batch = block_on(skewed.check_batch(&plans).into_future());
                assert_eq!(shown(&batch), shown(&single), "seed {seed}, stale periods");
            }
            // Every second seed crosses midnight, where periods change.
            clock.advance(Duration::from_secs(if ticks { 8_000 } else { 20 }));
        }
    }
}

/// Returns the limit-related content of verdicts.
fn shown(verdicts: &[Result<Verdict, CheckError>]) -> Vec<String> {
    let of = |made: &Decision| (made.is_allowed(), made.remaining(), made.retry_after());
    let verdict = |verdict: &Result<Verdict, CheckError>| match verdict {
        Ok(verdict) => {
            let decisions: Vec<_> = verdict.decisions().iter().flatten().map(of).collect();
            format!("{} {decisions:?}", verdict.is_allowed())
        }
        Err(error) => error.to_string(),
    };
    verdicts.iter().map(verdict).collect()
}
