//! Tests of cooldown attempts while the server is down, and in sets of several slots.

use std::time::Duration;

use sluicegate::{DecidedBy, next_set_id};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{
    Check, Cooldown, Cost, Limit, OnStoreError, Operation, Refusal, Ruling, Set, Span,
};
use sluicegate_testkit::{FaultProxy, ServerKind, wait_until};

use crate::decided_by::ask;
use crate::harness::{TestBed, cluster, options};

const PATIENCE: Duration = Duration::from_secs(30);

/// Five failures; attempts are pending for longer than a test takes.
fn login() -> Limit {
    let cooldown = Cooldown {
        after: 5,
        within: Span::from_secs(3_600),
        block: Span::from_secs(3_600),
        escalation: None,
        pending: Some(Span::from_secs(3_600)),
        reset_on_success: false,
    };
    Limit::cooldown("login", cooldown).unwrap()
}

#[test]
fn an_outage_replays_failures_but_not_attempts() {
    let (stage, limit) = (TestBed::on(ServerKind::Redis), login());
    let proxy = FaultProxy::to(stage.server.address());
    let store = stage.start(options(&proxy.url()).deadline(Duration::from_secs(1)).unwrap());
    let check = |key: &'static str| Check::new(&limit, key).if_unreachable(OnStoreError::Local);
    let decide = |check| stage.block_on(ask(&store, check));
    // The last is refused, which the node caches.
    let granted: Vec<u64> = (0..6).map(|_| decide(check("seen")).1.granted()).collect();
    assert_eq!(granted, [1, 1, 1, 1, 1, 0]);

    proxy.silent();
    wait_until("the server is given up", PATIENCE, || {
        decide(check("other").with_operation(Operation::peek())).0.by == DecidedBy::Share
    });
    let granted: Vec<u64> = (0..6).map(|_| decide(check("attempts")).1.granted()).collect();
    assert_eq!(granted, [1, 1, 1, 1, 1, 0], "this node is the only one");
    decide(check("failures").with_operation(Operation::Charge(Cost::from(2))));
    let (applied, seen) = decide(check("seen"));
    assert_eq!(applied.by, DecidedBy::Share);
    assert!(!matches!(seen.refusal(), Some(Refusal::Blocked { .. })), "attempts do not block");

    proxy.forward();
    wait_until("the server is used again", PATIENCE, || {
        decide(check("other").with_operation(Operation::peek())).0.by == DecidedBy::Store
    });
    for (key, left) in [("attempts", 5), ("failures", 3), ("seen", 0)] {
        let (applied, peeked) = decide(check(key).with_operation(Operation::peek()));
        assert_eq!((applied.by, peeked.remaining()), (DecidedBy::Store, left), "{key}");
    }
}

#[test]
fn refused_sets_across_slots_leave_no_attempt() {
    let (stage, limit) = (TestBed::with(cluster(ServerKind::Redis, 0)), login());
    // The deny cache would answer known refusals without the servers.
    let store = stage.start(stage.apart().deny_cache(false));
    let keys: Vec<String> = (0..20).map(|number| format!("caller {number}")).collect();
    let check =
        |number: usize| Check::new(&limit, &keys[number]).if_unreachable(OnStoreError::Deny);
    for _ in 0..5 {
        stage.block_on(ask(&store, check(0)));
    }
    // The last of them has no attempt left; the others are in many slots.
    for number in 1..keys.len() {
        let checks = [check(number), check(0)];
        let set = Set::all(&checks, next_set_id());
        let mut decisions = [None; 2];
        let applied = stage.block_on(apply_set(&store, &set, &mut decisions)).unwrap();
        assert_eq!((applied.by, applied.ruling), (DecidedBy::Store, Ruling::Refused));
        let (_, peeked) =
            stage.block_on(ask(&store, check(number).with_operation(Operation::peek())));
        assert_eq!(peeked.remaining(), 5, "{number}");
    }
}
