//! Tests of errors that the server reports.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sluicegate::DecidedBy;
use sluicegate_core::{Check, Cost, Limit, OnStoreError};
use sluicegate_redis::{Redis, Stats};
use sluicegate_testkit::{Connection, PATIENCE, Server, ServerKind, wait_until};

use crate::decided_by::ask;
use crate::fault_trial::long_or;
use crate::harness::{TestBed, setup};

fn limit() -> Limit {
    Limit::token_bucket("api", "1/h burst 10000".parse().unwrap()).unwrap()
}

/// A store that receives checks all the time until `happened`; none is admitted without the server.
fn until(stage: &TestBed, store: &Redis, what: &str, happened: impl Fn(Stats) -> bool) {
    let limit = limit();
    wait_until(what, PATIENCE, || {
        let check = Check::new(&limit, "caller").if_unreachable(OnStoreError::Deny);
        let (applied, decision) = stage.block_on(ask(store, check));
        assert_eq!(decision.is_allowed(), applied.by == DecidedBy::Store, "{applied:?}");
        happened(store.counts())
    });
}

fn recovers(stage: &TestBed, store: &Redis) {
    let limit = limit();
    wait_until("the server decides again", PATIENCE, || {
        stage.block_on(ask(store, Check::new(&limit, "caller"))).0.by == DecidedBy::Store
    });
}

fn quick(stage: &TestBed) -> Redis {
    stage.start(stage.options().deadline(Duration::from_millis(50)).unwrap())
}

#[test]
fn a_loading_server_is_awaited() {
    // So slow that it is noticed on a busy machine; little data is needed for it.
    let slow = setup(ServerKind::Redis).line("key-load-delay 10000");
    let stage = TestBed::with(slow.line("loading-process-events-interval-bytes 1024").start());
    let store = quick(&stage);
    let fill = "for i = 1, 5000 do redis.call('SET', 'other:' .. i, string.rep('x', 50)) end";
    stage.server.command(&["EVAL", fill, "0"]);
    stage.server.command(&["SAVE"]);
    stage.server.restart();
    until(&stage, &store, "it says that it loads", |counts| counts.loading > 0);
    stage.server.command(&["CONFIG", "SET", "key-load-delay", "0"]);
    recovers(&stage, &store);
}

#[test]
fn a_busy_server_is_awaited() {
    let stage = TestBed::with(setup(ServerKind::Redis).line("busy-reply-threshold 100").start());
    let store = quick(&stage);
    let address = stage.server.address();
    let hog = thread::spawn(move || {
        let mut connection = Connection::to(address).unwrap();
        connection.command(&["AUTH", "testkit", "testkit"]).unwrap();
        connection.set_timeout(PATIENCE).unwrap();
        // It answers with an error once the script is killed.
        let _ = connection.command(&["EVAL", "while true do end", "0"]);
    });
    until(&stage, &store, "it says that it is busy", |counts| counts.busy > 0);
    stage.server.command(&["SCRIPT", "KILL"]);
    hog.join().unwrap();
    recovers(&stage, &store);
}

#[test]
fn a_server_without_memory_is_bypassed() {
    let stage = TestBed::on(ServerKind::Redis);
    let store = quick(&stage);
    stage.server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    until(&stage, &store, "it says that it has no memory", |counts| counts.out_of_memory > 0);
    let limit = limit();
    for _ in 0..100 {
        let check = Check::new(&limit, "caller").if_unreachable(OnStoreError::Deny);
        assert_eq!(
            stage.block_on(ask(&store, check)).0.by,
            DecidedBy::Policy,
            "all follow the policy"
        );
    }
    stage.server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    recovers(&stage, &store);
}

#[test]
fn a_server_that_became_a_replica_is_not_used() {
    let (stage, primary) = (TestBed::on(ServerKind::Redis), Server::redis());
    let store = quick(&stage);
    let port = primary.port().to_string();
    stage.server.command(&["REPLICAOF", "127.0.0.1", &port]);
    until(&stage, &store, "it says that it may only be read", |counts| counts.read_only > 0);
    stage.server.command(&["REPLICAOF", "NO", "ONE"]);
    recovers(&stage, &store);
}

#[test]
fn a_flood_of_new_callers_does_not_reset_exhausted_ones() {
    let stage =
        TestBed::with(setup(ServerKind::Redis).line("maxmemory-policy volatile-ttl").start());
    let store = Arc::new(stage.start(stage.options().deny_cache(false)));
    let limit = Limit::token_bucket("api", "60/h burst 60".parse().unwrap()).unwrap();
    let exhausted: Vec<String> = (0..100).map(|number| format!("exhausted {number}")).collect();
    for key in &exhausted {
        let all = Check::new(&limit, key).cost(Cost::from(60));
        assert!(stage.block_on(ask(&store, all)).1.is_allowed());
    }
    let room = stage.server.used_memory() + (1 << 20);
    stage.server.command(&["CONFIG", "SET", "maxmemory", &room.to_string()]);
    let flood: Vec<_> = (0..16)
        .map(|part| {
            let (store, limit) = (Arc::clone(&store), limit.clone());
            stage.runtime.spawn(async move {
                for number in 0..long_or(10_000, 1_500) {
                    let key = format!("fresh {part} {number}");
                    ask(&store, Check::new(&limit, &key)).await;
                }
            })
        })
        .collect();
    for part in flood {
        stage.block_on(part).unwrap();
    }
    let evicted: u64 = stage.server.info("stats")["evicted_keys"].parse().unwrap();
    let reset = exhausted.iter().filter(|key| {
        let (_, decision) = stage.block_on(ask(&store, Check::new(&limit, key)));
        // A caller that was reset has almost all units; others have those that refilled meanwhile.
        decision.remaining() >= 55
    });
    let reset = reset.count();
    eprintln!("{evicted} keys evicted, {reset} of {} exhausted callers reset", exhausted.len());
    assert!(evicted > 0, "there was no room");
    assert!(reset <= 5, "{reset} of {} were reset", exhausted.len());
}
