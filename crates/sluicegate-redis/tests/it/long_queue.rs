//! Tests that a long queue in front of a server that answers is load, and not an outage.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use sluicegate::{Applied, Batch, DecidedBy, Store, next_set_id};
use sluicegate_core::{Check, Decision, Limit, Operation, Set};
use sluicegate_redis::Redis;
use sluicegate_testkit::{Cluster, FaultProxy, PATIENCE, ServerKind, wait_until};

use crate::decided_by::ask;
use crate::harness::{TestBed, cluster, options};

/// The duration of each call.
const TRIP: Duration = Duration::from_millis(150);
/// The deadline of a call; a batch of sixteen calls takes longer than that.
const DEADLINE: Duration = Duration::from_secs(1);

fn limit() -> Limit {
    Limit::token_bucket("calls", "10/day".parse().unwrap()).unwrap()
}

/// Decides a check for each key, as a batch.
async fn decide(store: &Redis, limit: &Limit, keys: &[String]) -> Vec<(Applied, Option<Decision>)> {
    let checks: Vec<_> = keys.iter().map(|key| Check::new(limit, key)).collect();
    let sets: Vec<_> = checks.iter().map(|check| Set::one(check, next_set_id())).collect();
    let mut decisions = vec![None; sets.len()];
    let mut batch = Batch::new(&sets, &mut decisions);
    store.apply(&mut batch).await.unwrap();
    let applied = batch.applied().to_vec();
    applied.into_iter().zip(decisions).collect()
}

fn keys(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix} {number}")).collect()
}

fn assert_all_by_the_store(decided: &[(Applied, Option<Decision>)], store: &Redis) {
    let by_store = decided.iter().filter(|(applied, _)| applied.by == DecidedBy::Store).count();
    assert_eq!(by_store, decided.len(), "{:?}", store.counts());
    assert!(decided.iter().all(|(_, decision)| decision.unwrap().remaining() == 9));
}

/// A store on a slow server.
fn slow(stage: &TestBed) -> (Redis, FaultProxy) {
    let proxy = FaultProxy::to(stage.server.address());
    let options = options(&proxy.url()).deadline(DEADLINE).unwrap();
    let store = stage.start(options);
    proxy.delay(TRIP);
    (store, proxy)
}

#[test]
fn every_caller_of_a_batch_is_decided_by_the_store() {
    let stage = TestBed::on(ServerKind::Redis);
    let (store, _proxy) = slow(&stage);
    let decided = stage.block_on(decide(&store, &limit(), &keys("caller", 1_000)));
    assert_eq!(decided.len(), 1_000);
    assert_all_by_the_store(&decided, &store);
    assert_eq!(store.counts().passed_over, 0);
}

#[test]
fn every_caller_of_a_batch_is_decided_by_a_cluster() {
    let stage: TestBed<Cluster> = TestBed::with(cluster(ServerKind::Valkey, 0));
    let store = stage.start(stage.options());
    let decided = stage.block_on(decide(&store, &limit(), &keys("caller", 1_000)));
    assert_all_by_the_store(&decided, &store);
}

#[test]
fn pipelines_queue_and_single_requests_overtake_them() {
    let stage = TestBed::on(ServerKind::Redis);
    let (store, _proxy) = slow(&stage);
    let (limit, done) = (limit(), AtomicUsize::new(0));
    let pipelines = (0..32).map(async |number| {
        let decided = decide(&store, &limit, &keys(&format!("pipeline {number}"), 64)).await;
        done.fetch_add(1, Ordering::Relaxed);
        assert_all_by_the_store(&decided, &store);
    });
    // Polled after the pipelines, so its request comes last.
    let single = async {
        let (applied, _) = ask(&store, Check::new(&limit, "single")).await;
        assert_eq!(applied.by, DecidedBy::Store);
        assert!(done.load(Ordering::Relaxed) < 16, "the request waited for most of the pipelines");
    };
    stage.block_on(async { tokio::join!(join_all(pipelines), single) });
    assert_eq!(store.counts().passed_over, 0);
}

#[test]
fn requests_that_were_not_sent_are_charged_later() {
    const ALL: u64 = 100_000;
    const REQUESTS: u64 = 3_000;
    let stage = TestBed::on(ServerKind::Redis);
    let (store, proxy) = slow(&stage);
    let limit = Limit::token_bucket("calls", format!("{ALL}/30d").parse().unwrap()).unwrap();
    let limit = limit.without_debt();
    // Two calls of 64 at a time: many of the requests are not sent within four deadlines.
    let requests = (0..REQUESTS).map(|_| ask(&store, Check::new(&limit, "caller")));
    let decided = stage.block_on(join_all(requests));
    assert!(decided.iter().all(|(_, decision)| decision.is_allowed()));
    let counts = store.counts();
    assert!(counts.overloads > 0 && counts.by_share > 0, "{counts:?}");
    assert_eq!(counts.passed_over, counts.by_share, "{counts:?}");
    proxy.forward();
    // The answer to a heartbeat says nothing about requests that were never sent.
    let before = stage.beats();
    wait_until("the store has beaten twice", PATIENCE, || stage.beats() >= before + 2);
    wait_until("all requests are charged", PATIENCE, || {
        let (applied, decision) = stage
            .block_on(ask(&store, Check::new(&limit, "caller").with_operation(Operation::peek())));
        applied.by == DecidedBy::Store && decision.remaining() <= ALL - REQUESTS
    });
}
