//! Tests of leftovers: after dropped stores, cancelled callers, and short failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sluicegate::{DecidedBy, Limiter, Plan, next_set_id};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Check, Decision, Limit, Operation, Scope, Set, Span};
use sluicegate_redis::{Event, Redis};
use sluicegate_testkit::{FaultProxy, PATIENCE, ServerKind, poll_once, wait_until};
use tokio::runtime::Builder;

use crate::decided_by::ask;
use crate::harness::{TestBed, USER, options};

fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

/// The state of a counter on the store, once it answers again.
fn peek(stage: &TestBed, store: &Redis, limit: &Limit, key: &str) -> Decision {
    let mut found = None;
    wait_until("the store answers", PATIENCE, || {
        // The first check replays pending charges, so the second one shows the state.
        let peek = Check::new(limit, key).with_operation(Operation::peek());
        stage.block_on(ask(store, peek));
        let (applied, decision) = stage.block_on(ask(store, peek));
        found = Some(decision);
        applied.by == DecidedBy::Store
    });
    found.unwrap()
}

#[test]
fn a_dropped_store_leaves_no_connection_and_no_task() {
    let stage = TestBed::on(ServerKind::Redis);
    for _ in 0..5 {
        drop(stage.start(stage.apart()));
    }
    wait_until("all connections are closed", PATIENCE, || {
        let list = stage.server.command(&["CLIENT", "LIST"]).text();
        !list.contains(&format!("user={USER} "))
    });
    wait_until("all tasks are done", PATIENCE, || stage.runtime.metrics().num_alive_tasks() == 0);
}

#[test]
fn a_request_counted_after_its_deadline_is_charged_twice_at_most() {
    let stage = TestBed::on(ServerKind::Redis);
    let store = stage.start(options(&stage.server.url()));
    let limit = bucket("api", "4/day burst 4");
    stage.block_on(ask(&store, Check::new(&limit, "other")));
    stage.server.pause();
    let (applied, first) = stage.block_on(ask(&store, Check::new(&limit, "caller")));
    assert!(applied.by == DecidedBy::Share && first.is_allowed());
    stage.server.resume();
    // By the server, which executed the call after all, and by the replay of the local charge.
    let remaining = peek(&stage, &store, &limit, "caller").remaining();
    assert!((2..=3).contains(&remaining), "{remaining}");
}

#[test]
fn a_server_slower_than_the_deadline_is_marked_down_once() {
    let stage = TestBed::on(ServerKind::Redis);
    let proxy = FaultProxy::to(stage.server.address());
    let degraded = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&degraded);
    // Other events may occur on a busy machine, such as a warning about a call that was late once.
    let on_event = move |event: &Event| {
        count.fetch_add(matches!(event, Event::Degraded { .. }).into(), Ordering::Relaxed);
    };
    let store = stage.start(options(&proxy.url()).on_event(on_event));
    let limit = bucket("api", "1000/s burst 100000");
    stage.block_on(ask(&store, Check::new(&limit, "caller")));
    proxy.delay(Duration::from_millis(100));
    let before = (store.counts().breaker_opened, degraded.load(Ordering::Relaxed));
    // Each heartbeat finds that answers take too long for any request.
    for _ in 0..4 {
        let beats = proxy.counts().replies;
        wait_until("it beats", PATIENCE, || proxy.counts().replies > beats);
        stage.block_on(ask(&store, Check::new(&limit, "caller")));
    }
    let after = (store.counts().breaker_opened, degraded.load(Ordering::Relaxed));
    assert!(after.0 <= before.0 + 1 && after.1 <= before.1 + 1, "{before:?}, then {after:?}");
    assert!(!store.health().up);
    proxy.delay(Duration::ZERO);
    wait_until("it is used again", PATIENCE, || store.health().up);
}

#[test]
fn pending_charges_of_one_caller_do_not_slow_down_others() {
    let stage = TestBed::on(ServerKind::Redis);
    let limiter = Limiter::new(stage.start(stage.options()));
    let limit = bucket("api", "1/day burst 100");
    stage.block_on(ask(limiter.store(), Check::new(&limit, "warm")));
    stage.server.kill();
    wait_until("a caller is admitted without the store", PATIENCE, || {
        stage.block_on(ask(limiter.store(), Check::new(&limit, "gone for ever"))).0.by
            == DecidedBy::Share
    });
    stage.server.restart();
    peek(&stage, limiter.store(), &limit, "x");
    let keys: Vec<String> = (0..64).map(|key| key.to_string()).collect();
    let plans: Vec<_> = keys
        .iter()
        .map(|key| {
            let mut plan = Plan::new();
            plan.require(Check::new(&limit, key));
            plan
        })
        .collect();
    let before = limiter.store().counts().calls;
    let verdicts = stage.block_on(limiter.check_batch(&plans).into_future());
    assert!(verdicts.iter().all(Result::is_ok), "{verdicts:?}");
    let calls = limiter.store().counts().calls - before;
    assert!(calls <= 2, "{calls} calls for 64 checks that arrived together");
}

#[test]
fn a_cancelled_set_refunds_the_nodes_subset() {
    let stage = TestBed::on(ServerKind::Redis);
    let store = stage.start(stage.options().deny_cache(false));
    let own = Limit::concurrency("own", 1, Span::from_secs(60)).unwrap();
    let shared = bucket("api", "1/h burst 1");
    let own = Check::new(&own, "caller").scoped(Scope::Node);
    let checks = [own, Check::new(&shared, "caller")];
    let set = Set::all(&checks, next_set_id());
    stage.server.pause();
    {
        let _within = stage.runtime.enter();
        let mut decisions = [None, None];
        let mut asking = Box::pin(apply_set(&store, &set, &mut decisions));
        let pending = poll_once(asking.as_mut());
        assert!(pending.is_pending(), "{pending:?}");
    }
    stage.server.resume();
    let (_, decision) = stage.block_on(ask(&store, own));
    assert!(decision.is_allowed(), "the slot is free");
}

#[test]
fn a_second_outage_starts_from_the_last_state_of_the_store() {
    let stage = TestBed::on(ServerKind::Redis);
    let store = stage.start(options(&stage.server.url()));
    let (limit, other) = (bucket("api", "1/h burst 10"), bucket("other", "1/h burst 10"));
    for _ in 0..4 {
        peek(&stage, &store, &limit, "caller");
        assert!(stage.block_on(ask(&store, Check::new(&limit, "caller"))).1.is_allowed());
    }
    for _ in 0..2 {
        stage.server.pause();
        // The connection is closed before this caller sends anything.
        wait_until("the line is closed", PATIENCE, || {
            stage.block_on(ask(&store, Check::new(&other, "x"))).0.by == DecidedBy::Share
        });
        let (applied, decision) = stage.block_on(ask(&store, Check::new(&limit, "caller")));
        assert!(
            applied.by == DecidedBy::Share && decision.is_allowed(),
            "at most 6 of 10 were used"
        );
        stage.server.resume();
        peek(&stage, &store, &limit, "caller");
    }
}

#[test]
fn a_blocked_or_ended_runtime_delays_no_caller() {
    let stage = TestBed::on(ServerKind::Redis);
    let limit = bucket("api", "1/h burst 100");
    let own = Builder::new_current_thread().enable_all().build().unwrap();
    let store = own.block_on(async {
        let store = Redis::start(options(&stage.server.url())).unwrap();
        assert!(store.wait_until_connected(PATIENCE).await);
        store
    });
    for _ in 0..4 {
        let (applied, decision) = stage.block_on(ask(&store, Check::new(&limit, "caller")));
        assert!(applied.by == DecidedBy::Share && decision.is_allowed(), "it makes no progress");
    }
    drop(own);
    for _ in 0..4 {
        assert!(stage.block_on(ask(&store, Check::new(&limit, "caller"))).1.is_allowed());
    }
}
