//! Plans with a deadline for their answer.

use std::sync::Mutex;

use sluicegate::{
    Batch, Check, CheckError, Limit, Limiter, ManualClock, Memory, Plan, Set, Span, Store,
};

/// A memory store that records the deadlines it receives.
struct DeadlineStore {
    memory: Memory<ManualClock>,
    received: Mutex<Vec<Option<Span>>>,
}

impl Store for DeadlineStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        self.received.lock().unwrap().extend(batch.sets().iter().map(Set::within));
        self.memory.apply(batch).await
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

impl sluicegate::SyncStore for DeadlineStore {}

#[test]
fn a_store_receives_the_deadline_of_each_plan() {
    let memory = Memory::with_clock(ManualClock::default());
    let limiter = Limiter::new(DeadlineStore { memory, received: Mutex::default() });
    let received = || std::mem::take(&mut *limiter.store().received.lock().unwrap());
    let limits = [
        Limit::token_bucket("bucket", "9/day".parse().unwrap()).unwrap(),
        Limit::fixed_window("month", "9/month".parse().unwrap()).unwrap(),
    ];
    for limit in &limits {
        let check = Check::new(limit, "ann");
        let plans = [None, Some(7), Some(5)].map(|millis| {
            let within = millis.map(Span::from_millis);
            let mut plan = Plan::new();
            plan.require(check).answered_within(within);
            assert_eq!(plan.within(), within);
            plan
        });
        let [_, seven, five] = [None, Some(7), Some(5)].map(|it| it.map(Span::from_millis));
        assert!(limiter.check(check).now().unwrap().is_allowed());
        assert_eq!(received(), [None], "a lone check says nothing");
        for (plan, within) in plans.iter().zip([None, seven, five]) {
            assert!(limiter.check_plan(plan).now().unwrap().is_allowed());
            assert_eq!(received(), [within]);
        }
        assert!(limiter.check_batch(&plans[1..]).now().iter().all(Result::is_ok));
        assert_eq!(received(), [seven, five], "each by itself");
    }
}
