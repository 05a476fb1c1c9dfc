//! Tests that refused requests are charged to no limit, with round trips of any duration.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use sluicegate::{Clock, Limiter, ManualClock, Memory, Plan};
use sluicegate_core::{Check, Cost, Decision, Limit, Scope, Span, Time};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Cluster, ServerKind};

use crate::harness::{TestBed, TestServers, cluster};

const TASKS: usize = 32;

/// Advances a clock until it is dropped.
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(clock: &ManualClock) -> Self {
        let (stop, clock) = (Arc::new(AtomicBool::new(false)), clock.clone());
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                clock.set(clock.now() + Span::from_micros(300));
                thread::yield_now();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A store and the memory store on one clock, and a set with one exhausted limit.
struct RollbackCase<'s, G> {
    stage: &'s TestBed<G>,
    clock: ManualClock,
    node: Limiter<Redis>,
    model: Limiter<Memory<ManualClock>>,
    ample: Limit,
    scarce: Limit,
    scope: Scope,
}

impl<'s, G: TestServers> RollbackCase<'s, G> {
    /// A third of the ample limit is used in both stores.
    fn new(stage: &'s TestBed<G>, ample: Limit, scope: Scope) -> Self {
        let clock = ManualClock::default();
        clock.set(Time::from_micros(1_800_000_000_000_000));
        let options = stage.apart().deny_cache(false).driven_by(clock.clone());
        let scene = Self {
            stage,
            node: Limiter::new(stage.start(options)),
            model: Limiter::new(Memory::with_clock(clock.clone())),
            clock,
            ample,
            scarce: Limit::token_bucket("scarce", "1/day".parse().unwrap()).unwrap(),
            scope,
        };
        let units = u32::try_from(scene.ample.capacity() / 3).unwrap();
        let used = scene.ample().cost(Cost::from(units));
        stage.block_on(scene.node.check(used).into_future()).unwrap();
        scene.model.check(used).now().unwrap();
        let all = Check::new(&scene.scarce, "scarce caller");
        stage.block_on(scene.node.check(all).into_future()).unwrap();
        scene
    }

    fn ample(&self) -> Check<'_> {
        Check::new(&self.ample, "ample caller").scoped(self.scope)
    }

    async fn refuse(&self) {
        let mut plan = Plan::new();
        plan.require(self.ample());
        plan.require(Check::new(&self.scarce, "scarce caller"));
        assert!(!self.node.check_plan(&plan).await.unwrap().is_allowed());
    }

    /// The usage of the ample limit in the store, and without refused requests.
    fn peeks(&self) -> (Decision, Decision) {
        let peek = self.ample().cost(Cost::ZERO);
        let found = self.stage.block_on(self.node.check(peek).into_future()).unwrap();
        (found, self.model.check(peek).now().unwrap())
    }
}

fn bucket(quota: &str) -> Limit {
    Limit::token_bucket("ample", quota.parse().unwrap()).unwrap()
}

/// Places in it can only be released at its end.
fn queue() -> Limit {
    Limit::queue("ample", "60/min burst 300".parse().unwrap()).unwrap()
}

fn one_after_the_other<G: TestServers>(stage: &TestBed<G>, scope: Scope) {
    let quotas = ["6000/min", "5400/min burst 300", "7/3s burst 90"];
    for limit in quotas.map(bucket).into_iter().chain([queue()]) {
        let name = limit.algorithm();
        let scene = RollbackCase::new(stage, limit, scope);
        for _ in 0..5 {
            let ticker = Ticker::start(&scene.clock);
            for _ in 0..10 {
                stage.block_on(scene.refuse());
            }
            drop(ticker);
            let (found, expected) = scene.peeks();
            assert_eq!(found, expected, "{name}");
        }
    }
}

fn side_by_side<G: TestServers>(stage: &TestBed<G>, scope: Scope) {
    for limit in [bucket("6000/min"), queue()] {
        crowd(stage, limit, scope);
    }
}

fn crowd<G: TestServers>(stage: &TestBed<G>, limit: Limit, scope: Scope) {
    let scene = RollbackCase::new(stage, limit, scope);
    let ticker = Ticker::start(&scene.clock);
    let refusals = (0..TASKS).map(async |_| {
        for _ in 0..10 {
            scene.refuse().await;
        }
    });
    stage.block_on(futures_util::future::join_all(refusals));
    drop(ticker);
    let (found, expected) = scene.peeks();
    let (found, expected) = (found.remaining(), expected.remaining());
    let tasks = TASKS as u64;
    assert!(
        (expected.saturating_sub(tasks)..=expected + tasks).contains(&found),
        "{found} of {expected}"
    );
}

#[test]
fn refusals_across_slots_drain_nothing() {
    let stage: TestBed<Cluster> = TestBed::with(cluster(ServerKind::Redis, 0));
    one_after_the_other(&stage, Scope::Cluster);
    side_by_side(&stage, Scope::Cluster);
}

#[test]
fn refusals_by_the_server_drain_no_limit_of_the_node() {
    let stage = TestBed::on(ServerKind::Valkey);
    one_after_the_other(&stage, Scope::Node);
    side_by_side(&stage, Scope::Node);
}
