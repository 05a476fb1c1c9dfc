//! Attempts of a cooldown while the server is away, and in sets of several slots.

use std::time::Duration;

use sluicegate::{By, Store, fresh_id};
use sluicegate_core::{Ask, Check, Cooldown, Cost, Limit, Outage, Refusal, Ruling, Set, Span};
use sluicegate_testkit::{FaultProxy, Kind, wait_until};

use crate::asking::ask;
use crate::stage::{Stage, cluster, options};

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
fn failures_of_an_outage_are_charged_later_and_attempts_are_not() {
    let (stage, limit) = (Stage::on(Kind::Redis), login());
    let proxy = FaultProxy::to(stage.server.address());
    let store = stage.start(options(&proxy.url()).deadline(Duration::from_secs(1)).unwrap());
    let check = |key: &'static str| Check::new(&limit, key).if_unreachable(Outage::Local);
    let asked = |check| stage.block_on(ask(&store, check));
    // The last is refused, which the node remembers.
    let granted: Vec<u64> = (0..6).map(|_| asked(check("seen")).1.granted()).collect();
    assert_eq!(granted, [1, 1, 1, 1, 1, 0]);

    proxy.silent();
    wait_until("the server is given up", PATIENCE, || {
        asked(check("other").ask(Ask::peek())).0.by == By::Share
    });
    let granted: Vec<u64> = (0..6).map(|_| asked(check("attempts")).1.granted()).collect();
    assert_eq!(granted, [1, 1, 1, 1, 1, 0], "this node is the only one");
    asked(check("failures").ask(Ask::Charge(Cost::from(2))));
    let (applied, seen) = asked(check("seen"));
    assert_eq!(applied.by, By::Share);
    assert!(!matches!(seen.refusal(), Some(Refusal::Blocked { .. })), "attempts do not block");

    proxy.forward();
    wait_until("the server is asked again", PATIENCE, || {
        asked(check("other").ask(Ask::peek())).0.by == By::Store
    });
    for (key, left) in [("attempts", 5), ("failures", 3), ("seen", 0)] {
        let (applied, standing) = asked(check(key).ask(Ask::peek()));
        assert_eq!((applied.by, standing.remaining()), (By::Store, left), "{key}");
    }
}

#[test]
fn a_set_of_several_slots_that_is_refused_leaves_no_attempt() {
    let (stage, limit) = (Stage::with(cluster(Kind::Redis, 0)), login());
    // Known refusals would be answered without the servers.
    let store = stage.start(stage.apart().deny_cache(false));
    let keys: Vec<String> = (0..20).map(|number| format!("caller {number}")).collect();
    let check = |number: usize| Check::new(&limit, &keys[number]).if_unreachable(Outage::Deny);
    for _ in 0..5 {
        stage.block_on(ask(&store, check(0)));
    }
    // The last of them has no attempt left; the others are in many slots.
    for number in 1..keys.len() {
        let checks = [check(number), check(0)];
        let set = Set::all(&checks, fresh_id());
        let mut decisions = [None; 2];
        let applied = stage.block_on(store.apply(&set, &mut decisions)).unwrap();
        assert_eq!((applied.by, applied.ruling), (By::Store, Ruling::Refused));
        let (_, standing) = stage.block_on(ask(&store, check(number).ask(Ask::peek())));
        assert_eq!(standing.remaining(), 5, "{number}");
    }
}
