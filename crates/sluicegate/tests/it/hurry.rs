//! Plans that say how long their answer is of use.

use std::sync::Mutex;

use sluicegate::{
    Applied, Check, CheckError, Decision, Limit, Limiter, ManualClock, Memory, Plan, Set, Span,
    Store,
};

/// A store in memory that remembers what it was told of how long there is.
struct Told {
    memory: Memory<ManualClock>,
    heard: Mutex<Vec<Option<Span>>>,
}

impl Store for Told {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.memory.clock()
    }

    async fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        self.heard.lock().unwrap().push(set.within());
        self.memory.apply(set, decisions).await
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.memory.apply_detached(check);
    }
}

impl sluicegate::Immediate for Told {}

#[test]
fn a_store_hears_how_long_the_answer_to_each_plan_is_of_use() {
    let memory = Memory::with_clock(ManualClock::default());
    let limiter = Limiter::new(Told { memory, heard: Mutex::default() });
    let heard = || std::mem::take(&mut *limiter.store().heard.lock().unwrap());
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
        assert_eq!(heard(), [None], "a lone check says nothing");
        for (plan, within) in plans.iter().zip([None, seven, five]) {
            assert!(limiter.check_plan(plan).now().unwrap().is_allowed());
            assert_eq!(heard(), [within]);
        }
        assert!(limiter.check_plans(&plans[1..]).now().iter().all(Result::is_ok));
        assert_eq!(heard(), [seven, five], "each by itself");
        limiter.check_together(&plans).now().unwrap();
        assert_eq!(heard(), [five], "together, the shortest");
        limiter.check_together(&plans[..1]).now().unwrap();
        assert_eq!(heard(), [None]);
    }
}
