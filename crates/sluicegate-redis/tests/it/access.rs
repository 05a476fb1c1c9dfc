//! Tests of the least privileged user that works: every permission is necessary.

use std::time::Duration;

use sluicegate::{DecidedBy, Limiter};
use sluicegate_conformance::limits::every_algorithm;
use sluicegate_core::{Check, Cost, Limit, Operation};
use sluicegate_redis::{Event, Options, Redis};
use sluicegate_testkit::{PATIENCE, ServerKind, retry_if_stalled, wait_until};

use crate::decided_by::{ask, try_ask};
use crate::harness::{PASSWORD, PERMISSIONS, TestBed, USER, options, setup};

fn permit(stage: &TestBed, permissions: &str) {
    let words = ["ACL", "SETUSER", USER, "reset", "on", &format!(">{PASSWORD}")].map(str::to_owned);
    let permissions = permissions.split_whitespace().map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(permissions).collect();
    assert_eq!(stage.server.command(&words).text(), "OK");
}

/// Runs everything that a node does, and returns the steps that failed.
fn exercise(stage: &TestBed) -> Result<(), String> {
    let options = stage.apart();
    let [one, other] = [0, 1].map(|_| stage.begin(options.clone()));
    for node in [&one, &other] {
        wait_until("the node is let in or not", PATIENCE, || {
            node.health().up || node.counts().refused > 0
        });
        if !node.health().up {
            return Err(format!("it is not reached: {:?}", node.health().why));
        }
    }
    if one.health().server.is_none_or(|server| server.version.is_empty()) {
        return Err("it does not say its version".to_owned());
    }
    for limit in every_algorithm(4, "min") {
        for key in ["ann", "bob", "ann", "ann"] {
            let (applied, decision) = stage.block_on(ask(&one, Check::new(&limit, key)));
            let receipt = decision.receipt().copied();
            if applied.by != DecidedBy::Store {
                return Err(format!("{} is not decided: {:?}", limit.name(), one.health().why));
            }
            if let Some(receipt) = receipt.filter(|_| key == "bob") {
                let give_back = Operation::Settle { receipt, actual: Cost::ZERO };
                let check = Check::new(&limit, key).with_operation(give_back);
                answered(stage, &one, check)?;
            }
        }
        answered(stage, &one, Check::new(&limit, "ann").with_operation(Operation::Reset))?;
    }
    receives_invalidation(stage, &one, &other)?;
    Ok(())
}

/// Whether the server answers a check.
fn answered(stage: &TestBed, store: &Redis, check: Check<'_>) -> Result<(), String> {
    match stage.block_on(try_ask(store, check)) {
        Ok((applied, _)) if applied.by == DecidedBy::Store => Ok(()),
        Ok((applied, _)) => Err(format!("it is answered by {:?}", applied.by)),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether one node receives the invalidations of another.
fn receives_invalidation(stage: &TestBed, one: &Redis, other: &Redis) -> Result<(), String> {
    let limit = Limit::token_bucket("received", "1/min burst 1".parse().unwrap()).unwrap();
    let take = || stage.block_on(ask(one, Check::new(&limit, "caller"))).1;
    let receipt = *take().receipt().ok_or("nothing was taken")?;
    take();
    let give_back = Operation::Settle { receipt, actual: Cost::ZERO };
    answered(stage, other, Check::new(&limit, "caller").with_operation(give_back))?;
    let mut received = false;
    for _ in 0..200 {
        received = received || take().is_allowed();
        crate::fault_trial::let_pass(Duration::from_millis(if received { 0 } else { 2 }));
    }
    received.then_some(()).ok_or_else(|| "it does not receive invalidations".to_owned())
}

fn smallest(kind: ServerKind) {
    let stage = TestBed::on(kind);
    permit(&stage, PERMISSIONS);
    assert_eq!(exercise(&stage), Ok(()), "all of it is enough");
    let given = PERMISSIONS.split_whitespace().filter(|word| word.starts_with(['+', '~', '&']));
    for taken in given {
        let fewer: Vec<&str> =
            PERMISSIONS.split_whitespace().filter(|word| *word != taken).collect();
        permit(&stage, &fewer.join(" "));
        let found = exercise(&stage);
        eprintln!("without {taken}: {found:?}");
        assert!(found.is_err(), "it works without {taken}");
    }
}

#[test]
fn the_smallest_user_of_redis_is_the_smallest() {
    retry_if_stalled(|| smallest(ServerKind::Redis));
}

#[test]
fn the_smallest_user_of_valkey_is_the_smallest() {
    retry_if_stalled(|| smallest(ServerKind::Valkey));
}

#[test]
fn everything_works_over_tls() {
    retry_if_stalled(|| {
        let stage = TestBed::with(setup(ServerKind::Redis).tls().start());
        let secure = |pem: &str| -> Options {
            options(&stage.server.tls_url()).ca_pem(pem.as_bytes().to_vec())
        };
        let store =
            stage.start(secure(stage.server.ca_pem()).deadline(Duration::from_secs(1)).unwrap());
        let limit = Limit::token_bucket("api", "1/min burst 3".parse().unwrap()).unwrap();
        let limiter = Limiter::new(store);
        for admitted in [true, true, true, false] {
            let decided = stage.block_on(limiter.check(Check::new(&limit, "caller")).into_future());
            assert_eq!(decided.unwrap().is_allowed(), admitted);
        }
        assert_eq!(
            limiter.store().counts().denied_by_policy + limiter.store().counts().by_share,
            0
        );
        // A certificate of another authority is not trusted.
        let other = TestBed::with(setup(ServerKind::Redis).tls().start());
        let stranger = stage.begin(secure(other.server.ca_pem()));
        wait_until("it says that the certificate is not trusted", PATIENCE, || {
            let why = stranger.health().why.unwrap_or_default();
            why.to_lowercase().contains("certificate")
        });
        assert!(!stranger.health().up);
    });
}

#[test]
fn refused_nodes_report_it_and_recover() {
    let stage = TestBed::on(ServerKind::Redis);
    let events = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sender_events = std::sync::Arc::clone(&events);
    let store = stage.start(stage.options().on_event(move |event| {
        sender_events.lock().unwrap().push(event.clone());
    }));
    let refused =
        || events.lock().unwrap().iter().any(|event| matches!(event, Event::Refused { .. }));
    stage.server.command(&["ACL", "SETUSER", USER, "off"]);
    stage.server.command(&["CLIENT", "KILL", "USER", USER]);
    wait_until("it says that it is refused", PATIENCE, refused);
    assert!(store.counts().refused > 0, "{:?}", store.counts());
    assert!(!store.health().up);
    stage.server.command(&["ACL", "SETUSER", USER, "on"]);
    wait_until("it is let in again", PATIENCE, || store.health().up);
}
