//! Tests of sets whose counters are in several slots and are only admitted together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate::{Clock, DecidedBy, Store, next_set_id, period_at};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Check, Cost, Limit, OnStoreError, Operation, Ruling, Set};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Cluster, PATIENCE, Rng, ServerKind, retry_if_stalled, wait_until};
use tokio::runtime::Builder;

use crate::decided_by::ask;
use crate::fault_trial::long_or;
use crate::harness::{IN_A_CLUSTER, PASSWORD, PERMISSIONS, TestBed, USER, cluster};

/// Rules for this number of slots.
const LIMITS: usize = 5;
const TASKS: u64 = 16;

fn limits() -> Arc<Vec<Limit>> {
    // They do not refill during the test, so that usage can be counted.
    let limit = |number: usize| {
        let amount = [40_000, 60_000, 80_000, 100_000, 120_000][number];
        let quota = format!("{amount}/30d").parse().unwrap();
        Limit::fixed_window(format!("limit {number}"), quota).unwrap().without_debt()
    };
    Arc::new((0..LIMITS).map(limit).collect())
}

/// The number of units of each limit that were admitted.
async fn work(store: Arc<Redis>, limits: Arc<Vec<Limit>>, seed: u64, steps: u64) -> [u64; LIMITS] {
    let mut chance = Rng::new(seed);
    let mut admitted = [0; LIMITS];
    for _ in 0..steps {
        let costs = [(); LIMITS].map(|()| chance.below(4));
        // Sometimes more than there is of one.
        let greedy = (chance.below(3) == 0).then(|| chance.index(LIMITS));
        let keys = [0, 1, 2, 3, 4].map(|number| format!("subject {number}"));
        let check = |number: usize| {
            let units = if greedy == Some(number) { 1_000_000 } else { costs[number] };
            let limit = &limits[number];
            let period = period_at(limit.calendar().unwrap(), store.clock().now());
            let check = Check::new(limit, &keys[number]).within(period);
            check.cost(Cost::new(units).unwrap()).if_unreachable(OnStoreError::Deny)
        };
        let checks: Vec<_> = (0..LIMITS).map(check).collect();
        let mut decisions = [None; LIMITS];
        let set = Set::all(&checks, next_set_id());
        let applied = apply_set(&*store, &set, &mut decisions).await.unwrap();
        assert_eq!(applied.by, DecidedBy::Store, "{:?}", store.counts());
        if applied.ruling == Ruling::Admitted {
            assert_eq!(greedy, None);
            for (total, cost) in admitted.iter_mut().zip(costs) {
                *total += cost;
            }
        }
    }
    admitted
}

fn used(stage: &TestBed<Cluster>, store: &Redis, limits: &[Limit]) -> [u64; LIMITS] {
    [0, 1, 2, 3, 4].map(|number| {
        let key = format!("subject {number}");
        let peek = Check::new(&limits[number], &key).with_operation(Operation::peek());
        let (_, peeked) = stage.block_on(ask(store, peek));
        peeked.limit() - peeked.remaining()
    })
}

#[test]
fn charges_equal_admissions() {
    retry_if_stalled(|| {
        let stage = TestBed::with(cluster(ServerKind::Redis, 0));
        let limits = limits();
        let stores: Vec<_> =
            (0..2).map(|_| Arc::new(stage.start(stage.options().deny_cache(false)))).collect();
        let steps = long_or(200_000, 4_000) / TASKS;
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let store = Arc::clone(&stores[usize::try_from(task).unwrap() % 2]);
                stage.runtime.spawn(work(store, Arc::clone(&limits), task, steps))
            })
            .collect();
        let mut admitted = [0; LIMITS];
        for task in tasks {
            for (total, own) in admitted.iter_mut().zip(stage.block_on(task).unwrap()) {
                *total += own;
            }
        }
        let counts = stores[0].counts();
        eprintln!("admitted {admitted:?}, {} refunds of one node", counts.refunds);
        assert!(admitted.iter().all(|units| *units > 0));
        assert!(counts.refunds > 0, "something had to be given back");
        wait_until("all refunds have run", PATIENCE, || {
            used(&stage, &stores[0], &limits) == admitted
        });
        assert_eq!((counts.stranded_units, counts.disagreements), (0, 0));
    });
}

#[test]
fn a_subset_without_server_follows_its_rule_and_the_rest_is_refunded() {
    retry_if_stalled(|| {
        let stage = TestBed::with(cluster(ServerKind::Redis, 0));
        let store = stage.start(stage.options().deny_cache(false));
        let limit = |name: &'static str| {
            Limit::token_bucket(name, "1/day burst 10".parse().unwrap()).unwrap().without_debt()
        };
        let limits = [limit("one"), limit("two")];
        let remaining = |key: &str| {
            let peek = Check::new(&limits[0], key).with_operation(Operation::peek());
            let (applied, peeked) = stage.block_on(ask(&store, peek));
            (applied.by == DecidedBy::Store).then_some(peeked.remaining())
        };
        stage.server.kill(0);
        let keys: Vec<String> = (0..40).map(|number| format!("key {number}")).collect();
        wait_until("it is known", PATIENCE, || !store.health().up);
        wait_until("its callers follow their rule", PATIENCE, || {
            keys.iter().any(|key| remaining(key).is_none())
        });
        let gone = keys.iter().find(|key| remaining(key).is_none()).unwrap();
        let there = keys.iter().find(|key| remaining(key).is_some()).unwrap();
        let decide = |outage: OnStoreError, cost: u32| {
            let checks = [
                Check::new(&limits[0], there).cost(Cost::from(cost)).if_unreachable(outage),
                Check::new(&limits[1], gone).cost(Cost::from(cost)).if_unreachable(outage),
            ];
            let mut decisions = [None; 2];
            let set = Set::all(&checks, next_set_id());
            let applied = stage.block_on(apply_set(&store, &set, &mut decisions)).unwrap();
            (applied, decisions)
        };
        let (applied, _) = decide(OnStoreError::Allow, 1);
        assert_eq!((applied.ruling, applied.by), (Ruling::Admitted, DecidedBy::Policy));
        assert_eq!(remaining(there), Some(9), "the one that is there was charged");
        let (applied, _) = decide(OnStoreError::Deny, 1);
        assert_eq!((applied.ruling, applied.by), (Ruling::Refused, DecidedBy::Policy));
        assert_eq!(remaining(there), Some(9), "and the charge was refunded");
        let (applied, decisions) = decide(OnStoreError::Local, 1);
        assert_eq!((applied.ruling, applied.by), (Ruling::Admitted, DecidedBy::Share));
        assert!(decisions[1].is_some_and(|decision| decision.is_allowed()));
        assert_eq!(remaining(there), Some(8));
        let parts = store.health().parts;
        assert_eq!(parts.iter().filter(|part| !part.up).count(), 1, "{parts:?}");
    });
}

/// The number of units admitted to the clients of a node, and the number of clients.
#[derive(Default)]
struct Totals {
    admitted: [AtomicU64; LIMITS],
}

#[test]
fn a_killed_node_strands_at_most_its_requests_in_flight() {
    let stage = TestBed::with(cluster(ServerKind::Redis, 0));
    let (limits, totals) = (limits(), Arc::new(Totals::default()));
    let others = stage.start(stage.options().deny_cache(false));
    let node = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = {
        let _within = node.enter();
        Arc::new(Redis::start(stage.options().deny_cache(false)).unwrap())
    };
    assert!(node.block_on(store.wait_until_connected(PATIENCE)));
    for seed in 0..TASKS {
        let (store, limits, totals) =
            (Arc::clone(&store), Arc::clone(&limits), Arc::clone(&totals));
        node.spawn(async move {
            for turn in 0.. {
                let admitted =
                    work(Arc::clone(&store), Arc::clone(&limits), seed << 32 | turn, 1).await;
                for (total, own) in totals.admitted.iter().zip(admitted) {
                    total.fetch_add(own, Ordering::Relaxed);
                }
            }
        });
    }
    let admitted = || [0, 1, 2, 3, 4].map(|number| totals.admitted[number].load(Ordering::Relaxed));
    wait_until("it is at work", PATIENCE, || admitted()[0] > 500);
    // At once, so that no request in flight is completed.
    node.shutdown_background();
    let mut last = [0; LIMITS];
    wait_until("nothing is done any more", PATIENCE, || {
        let now = used(&stage, &others, &limits);
        std::mem::replace(&mut last, now) == now
    });
    let admitted = admitted();
    eprintln!("admitted {admitted:?}, used {last:?}");
    for (used, admitted) in last.into_iter().zip(admitted) {
        // Each task had one request in flight, of three units of each limit at most.
        assert!((admitted..=admitted + TASKS * 3).contains(&used), "{used} of {admitted}");
    }
}

#[test]
fn decisions_are_shared_over_tls() {
    retry_if_stalled(|| {
        let user = format!("{USER} on >{PASSWORD} {PERMISSIONS} {IN_A_CLUSTER}");
        let cluster = Cluster::setup(ServerKind::Redis).user(&user).replicas_each(0).tls().start();
        let stage = TestBed::with(cluster);
        assert!(stage.server.url().starts_with("rediss+cluster://"));
        let pem = stage.server.ca_pem().as_bytes().to_vec();
        let nodes = [0, 1].map(|_| stage.start(stage.options().ca_pem(pem.clone())));
        let limit = Limit::token_bucket("api", "1/h burst 3".parse().unwrap()).unwrap();
        for caller in 0..20 {
            let key = format!("caller {caller}");
            for (number, admitted) in [true, true, true, false].into_iter().enumerate() {
                let future = ask(&nodes[number % 2], Check::new(&limit, &key));
                let (applied, decision) = stage.block_on(future);
                assert!(matches!(applied.by, DecidedBy::Store | DecidedBy::Memory), "{applied:?}");
                assert_eq!(decision.is_allowed(), admitted, "question {number} of {key}");
            }
        }
    });
}
