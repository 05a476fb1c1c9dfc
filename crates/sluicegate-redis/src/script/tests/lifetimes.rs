//! Tests of the lifetime of keys: as long as they are needed, and not much longer.

use std::time::Duration;

use sluicegate_core::{ChargeId, Check, Cost, Limit, Operation, Set, Slices, Span, Time};
use sluicegate_testkit::{Server, wait_until};

use super::pages::{SECOND, START, apply, at, bucket, take};
use super::steps::{ScriptServer, ScriptVariant, connect};

/// Added to lifetimes where a test drives the clock.
const HOUR_MILLIS: i64 = 3_600_000;

#[test]
fn no_key_lives_longer_than_its_limit_can_reach() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    // The most that a state of each can lie in the future, in milliseconds.
    let quota = |text: &str| text.parse().unwrap();
    let limits = [
        (bucket("a", "10/s"), 2_000),
        (bucket("b", "10/s").without_debt(), 1_000),
        (Limit::queue("c", quota("7/3s burst 6")).unwrap(), 6_000),
        (Limit::sliding_log("d", quota("4/min")).unwrap(), 60_000),
        (Limit::sliding_window("e", quota("4/min"), Slices::Weighted(6)).unwrap(), 70_000),
        (Limit::concurrency("f", 3, Span::from_secs(20)).unwrap(), 20_000),
        (bucket("g", "1/12775days"), 2 * 12_775 * 86_400_000),
    ];
    for (limit, reach) in &limits {
        for step in 0..40 {
            // Once, the clock is set back by a year.
            let back = if step == 30 { 365 * 86_400 * SECOND } else { 0 };
            let now = Time::from_micros(START + step * SECOND / 7 - back);
            let operation = if step % 9 == 8 {
                Operation::Charge(Cost::from(100))
            } else {
                Operation::acquire(Cost::ONE)
            };
            apply(&mut server, now, &Check::new(limit, "x").with_operation(operation));
            for key in server.keys() {
                let lives = server.time_to_live(&key) - HOUR_MILLIS;
                assert!(lives > 0, "{limit:?}: {lives}");
                assert!(lives <= reach + 1_001, "{limit:?}, step {step}: {lives}");
            }
        }
        server.run(&redis::cmd("FLUSHALL"));
    }
}

#[test]
fn fast_tiers_do_not_shorten_the_lifetime_of_slow_ones() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 0);
    let (quick, slow) = (bucket("a", "10/s"), bucket("a", "10/day"));
    take(&mut server, at(0), &slow, "x");
    for caller in 0..100 {
        take(&mut server, at(caller * SECOND), &quick, &caller.to_string());
    }
    let [key] = &server.keys()[..] else { panic!("one page") };
    let needed = 8_640_000 - 100_000;
    assert!(server.time_to_live(key) >= needed + HOUR_MILLIS, "{}", server.time_to_live(key));
}

#[test]
fn longer_horizons_do_not_shorten_the_lifetime_of_a_page() {
    for through in ScriptVariant::ALL {
        let redis = Server::redis();
        let mut server = ScriptServer::new(connect(&redis), "t:", 0);
        server.through = through;
        let (near, far) = (bucket("a", "10/s burst 100"), bucket("a", "1000/s burst 100000"));
        apply(&mut server, at(0), &Check::new(&near, "x").cost(100.into()));
        take(&mut server, at(0), &far, "y");
        let [key] = &server.keys()[..] else { panic!("one page") };
        assert!(server.time_to_live(key) >= 10_000 + HOUR_MILLIS, "{}", server.time_to_live(key));
    }
}

#[test]
fn recovered_counters_leave_no_keys() {
    let redis = Server::redis();
    let mut server = ScriptServer::new(connect(&redis), "t:", 4);
    server.driven = false;
    let limits = [
        bucket("a", "1000/s"),
        bucket("b", "700/3s burst 3"),
        Limit::sliding_log("c", "5/100ms".parse().unwrap()).unwrap(),
        Limit::sliding_window("d", "5/100ms".parse().unwrap(), Slices::Weighted(2)).unwrap(),
    ];
    for caller in 0..50 {
        for limit in &limits {
            let (key, id) = (caller.to_string(), ChargeId::from_bits(1));
            let mut answer = server.apply(Time::EPOCH, &Set::one(&Check::new(limit, &key), id));
            let set = Check::new(limit, &key);
            ScriptServer::explained(&Set::one(&set, id), &mut answer);
        }
    }
    wait_until("all keys are gone", Duration::from_secs(30), || server.keys().is_empty());
}
