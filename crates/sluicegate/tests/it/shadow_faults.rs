//! Tests of shadows that cannot be decided: they fail no request.

use std::sync::atomic::{AtomicU32, Ordering};

use sluicegate::{
    Batch, Check, CheckError, Limit, Limiter, ManualClock, Memory, Plan, Store, SyncStore,
};

/// A memory store that fails at the second set of a batch.
struct FailingStore {
    memory: Memory<ManualClock>,
    failures: AtomicU32,
}

impl Store for FailingStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        while let Some((set, decisions)) = batch.next_set() {
            let applied = self.memory.decide(set, decisions);
            batch.push(applied);
            if !batch.is_decided() {
                self.failures.fetch_add(1, Ordering::Relaxed);
                return Err(CheckError::StoreUnreachable { why: "the test ends here".into() });
            }
        }
        Ok(())
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

impl SyncStore for FailingStore {}

fn bucket(name: &'static str) -> Limit {
    Limit::token_bucket(name, "2/min".parse().unwrap()).unwrap()
}

#[test]
fn a_shadow_without_an_answer_fails_no_request() {
    let memory = Memory::with_clock(ManualClock::default());
    let limiter = Limiter::new(FailingStore { memory, failures: AtomicU32::new(0) });
    let (rule, trial) = (bucket("rule"), bucket("trial"));
    let mut plan = Plan::new();
    plan.require(Check::new(&rule, "key")).observe([Check::new(&trial, "key")]);
    let verdict = limiter.check_plan(&plan).now().unwrap();
    assert!(verdict.is_allowed());
    assert_eq!(verdict.decisions()[0].unwrap().remaining(), 1, "the requirement is charged once");
    assert_eq!(verdict.decisions()[1], None);
    assert_eq!(limiter.store().failures.load(Ordering::Relaxed), 1);
}

#[test]
fn a_requirement_without_an_answer_fails_its_request() {
    let memory = Memory::with_clock(ManualClock::default());
    let limiter = Limiter::new(FailingStore { memory, failures: AtomicU32::new(0) });
    let rule = bucket("rule");
    let mut plan = Plan::new();
    plan.require(Check::new(&rule, "key"));
    let verdicts = limiter.check_batch(&[plan.clone(), plan]).now();
    assert!(verdicts[0].is_ok());
    assert!(matches!(verdicts[1], Err(CheckError::StoreUnreachable { .. })), "{verdicts:?}");
}

#[test]
fn a_shadow_may_not_count_on_the_counter_of_a_requirement() {
    let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
    let (rule, tighter) =
        (bucket("rule"), Limit::token_bucket("rule", "1/min".parse().unwrap()).unwrap());
    let mut plan = Plan::new();
    plan.require(Check::new(&rule, "key")).observe([Check::new(&tighter, "key")]);
    let found = limiter.check_plan(&plan).now();
    assert!(matches!(found, Err(CheckError::ContradictoryLimits)), "{found:?}");
    assert_eq!(limiter.peek(&rule, "key").now().unwrap().remaining(), 2, "nothing was charged");
}
