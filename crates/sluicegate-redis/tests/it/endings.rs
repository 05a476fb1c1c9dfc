//! What is left behind: by stores that are dropped, callers that go, and hiccups.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate::{By, Limiter, Store, fresh_id};
use sluicegate_core::{Ask, Check, Decision, Limit, Scope, Set, Span};
use sluicegate_redis::Redis;
use sluicegate_testkit::{FaultProxy, Kind, PATIENCE, wait_until};
use tokio::runtime::Builder;

use crate::asking::ask;
use crate::stage::{Stage, USER, options};

fn bucket(name: &'static str, quota: &str) -> Limit {
    Limit::token_bucket(name, quota.parse().unwrap()).unwrap()
}

/// How the store itself says that a caller stands, once it answers again.
fn standing(stage: &Stage, store: &Redis, limit: &Limit, key: &str) -> Decision {
    let mut found = None;
    wait_until("the store answers", PATIENCE, || {
        // Whatever is owed rides with the first question, so the second tells.
        let peek = Check::new(limit, key).ask(Ask::peek());
        stage.block_on(ask(store, peek));
        let (applied, decision) = stage.block_on(ask(store, peek));
        found = Some(decision);
        applied.by == By::Store
    });
    found.unwrap()
}

#[test]
fn a_store_that_is_dropped_leaves_no_connection_and_no_task() {
    let stage = Stage::on(Kind::Redis);
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
fn a_request_that_the_store_counted_after_its_deadline_is_not_charged_again() {
    let stage = Stage::on(Kind::Redis);
    let store = stage.start(options(&stage.server.url()));
    let limit = bucket("api", "2/day burst 2");
    stage.block_on(ask(&store, Check::new(&limit, "somebody else")));
    stage.server.pause();
    let (applied, first) = stage.block_on(ask(&store, Check::new(&limit, "caller")));
    assert!(applied.by == By::Share && first.is_allowed());
    stage.server.resume();
    assert_eq!(standing(&stage, &store, &limit, "caller").remaining(), 1, "one of two was used");
}

#[test]
fn a_server_that_is_slower_than_the_deadline_is_given_up_once() {
    let stage = Stage::on(Kind::Redis);
    let proxy = FaultProxy::to(stage.server.address());
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let tell = move |_: &_| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let store = stage.start(options(&proxy.url()).on_event(tell));
    let limit = bucket("api", "1000/s burst 100000");
    stage.block_on(ask(&store, Check::new(&limit, "caller")));
    proxy.delay(Duration::from_millis(100));
    let before = (store.counts().breaker_opened, told.load(Ordering::Relaxed));
    // Each beat finds that it takes too long; so would everybody who asked.
    for _ in 0..4 {
        let beats = proxy.counts().replies;
        wait_until("it beats", PATIENCE, || proxy.counts().replies > beats);
        stage.block_on(ask(&store, Check::new(&limit, "caller")));
    }
    let after = (store.counts().breaker_opened, told.load(Ordering::Relaxed));
    assert!(after.0 <= before.0 + 1 && after.1 <= before.1 + 1, "{before:?}, then {after:?}");
    assert!(!store.health().up);
    proxy.delay(Duration::ZERO);
    wait_until("it is used again", PATIENCE, || store.health().up);
}

#[test]
fn what_one_caller_owes_does_not_slow_down_the_others() {
    let stage = Stage::on(Kind::Redis);
    let limiter = Limiter::new(stage.start(stage.options()));
    let limit = bucket("api", "1/day burst 100");
    stage.block_on(ask(limiter.store(), Check::new(&limit, "warm")));
    stage.server.kill();
    wait_until("somebody is admitted without the store", PATIENCE, || {
        stage.block_on(ask(limiter.store(), Check::new(&limit, "gone for ever"))).0.by == By::Share
    });
    stage.server.restart();
    standing(&stage, limiter.store(), &limit, "x");
    let keys: Vec<String> = (0..64).map(|key| key.to_string()).collect();
    let checks: Vec<_> = keys.iter().map(|key| Check::new(&limit, key)).collect();
    let before = limiter.store().counts().calls;
    stage.block_on(limiter.check_many(&checks).into_future()).unwrap();
    let calls = limiter.store().counts().calls - before;
    assert!(calls <= 2, "{calls} calls for 64 checks that arrived together");
}

#[test]
fn the_nodes_part_of_a_set_comes_back_if_whoever_asked_goes() {
    let stage = Stage::on(Kind::Redis);
    let store = stage.start(stage.options().deny_cache(false));
    let own = Limit::concurrency("own", 1, Span::from_secs(60)).unwrap();
    let shared = bucket("api", "1/h burst 1");
    let own = Check::new(&own, "caller").scoped(Scope::Node);
    let checks = [own, Check::new(&shared, "caller")];
    let set = Set::all(&checks, fresh_id());
    stage.server.pause();
    {
        let _within = stage.runtime.enter();
        let mut decisions = [None, None];
        let mut asking = Box::pin(store.apply(&set, &mut decisions));
        let pending = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(pending.is_pending(), "{pending:?}");
    }
    stage.server.resume();
    let (_, decision) = stage.block_on(ask(&store, own));
    assert!(decision.is_allowed(), "nobody holds the slot");
}

#[test]
fn a_second_hiccup_begins_where_the_store_stood_and_no_lower() {
    let stage = Stage::on(Kind::Redis);
    let store = stage.start(options(&stage.server.url()));
    let (limit, other) = (bucket("api", "1/h burst 10"), bucket("other", "1/h burst 10"));
    for _ in 0..4 {
        standing(&stage, &store, &limit, "caller");
        assert!(stage.block_on(ask(&store, Check::new(&limit, "caller"))).1.is_allowed());
    }
    for _ in 0..2 {
        stage.server.pause();
        // The line is closed before this caller asks: nothing of it is on its way.
        wait_until("the line is closed", PATIENCE, || {
            stage.block_on(ask(&store, Check::new(&other, "x"))).0.by == By::Share
        });
        let (applied, decision) = stage.block_on(ask(&store, Check::new(&limit, "caller")));
        assert!(applied.by == By::Share && decision.is_allowed(), "at most 6 of 10 were used");
        stage.server.resume();
        standing(&stage, &store, &limit, "caller");
    }
}

#[test]
fn a_runtime_that_stands_still_or_has_ended_holds_nobody_up() {
    let stage = Stage::on(Kind::Redis);
    let limit = bucket("api", "1/h burst 100");
    let own = Builder::new_current_thread().enable_all().build().unwrap();
    let store = own.block_on(async {
        let store = Redis::start(options(&stage.server.url())).unwrap();
        assert!(store.reached(PATIENCE).await);
        store
    });
    for _ in 0..4 {
        let (applied, decision) = stage.block_on(ask(&store, Check::new(&limit, "caller")));
        assert!(applied.by == By::Share && decision.is_allowed(), "nobody drives it");
    }
    drop(own);
    for _ in 0..4 {
        assert!(stage.block_on(ask(&store, Check::new(&limit, "caller"))).1.is_allowed());
    }
}
