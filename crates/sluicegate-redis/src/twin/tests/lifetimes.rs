//! How long keys live: as long as they are needed, and not much longer.

use std::time::Duration;

use sluicegate_core::{Ask, Check, Cost, Id, Limit, Set, Slices, Span, Time};
use sluicegate_testkit::{Server, wait_until};

use super::pages::{SECOND, START, apply, at, bucket, take};
use super::twin::{Through, Twin, connect};

/// What is added where time is driven.
const HOUR_MILLIS: i64 = 3_600_000;

#[test]
fn no_key_lives_longer_than_its_limit_can_reach() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    // As far as a state of each can lie ahead, in milliseconds.
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
            let ask =
                if step % 9 == 8 { Ask::Charge(Cost::from(100)) } else { Ask::acquire(Cost::ONE) };
            apply(&mut twin, now, &Check::new(limit, "x").ask(ask));
            for key in twin.keys() {
                let lives = twin.lives(&key) - HOUR_MILLIS;
                assert!(lives > 0, "{limit:?}: {lives}");
                assert!(lives <= reach + 1_001, "{limit:?}, step {step}: {lives}");
            }
        }
        twin.run(&redis::cmd("FLUSHALL"));
    }
}

#[test]
fn a_caller_of_a_slow_tier_is_not_forgotten_by_those_of_a_quick_one() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 0);
    let (quick, slow) = (bucket("a", "10/s"), bucket("a", "10/day"));
    take(&mut twin, at(0), &slow, "x");
    for caller in 0..100 {
        take(&mut twin, at(caller * SECOND), &quick, &caller.to_string());
    }
    let [key] = &twin.keys()[..] else { panic!("one page") };
    let needed = 8_640_000 - 100_000;
    assert!(twin.lives(key) >= needed + HOUR_MILLIS, "{}", twin.lives(key));
}

#[test]
fn a_caller_deep_in_a_page_is_not_forgotten_by_one_whose_limit_reaches_further() {
    for through in Through::ALL {
        let server = Server::redis();
        let mut twin = Twin::new(connect(&server), "t:", 0);
        twin.through = through;
        let (near, far) = (bucket("a", "10/s burst 100"), bucket("a", "1000/s burst 100000"));
        apply(&mut twin, at(0), &Check::new(&near, "x").cost(100.into()));
        take(&mut twin, at(0), &far, "y");
        let [key] = &twin.keys()[..] else { panic!("one page") };
        assert!(twin.lives(key) >= 10_000 + HOUR_MILLIS, "{}", twin.lives(key));
    }
}

#[test]
fn everything_is_gone_when_all_have_recovered() {
    let server = Server::redis();
    let mut twin = Twin::new(connect(&server), "t:", 4);
    twin.driven = false;
    let limits = [
        bucket("a", "1000/s"),
        bucket("b", "700/3s burst 3"),
        Limit::sliding_log("c", "5/100ms".parse().unwrap()).unwrap(),
        Limit::sliding_window("d", "5/100ms".parse().unwrap(), Slices::Weighted(2)).unwrap(),
    ];
    for caller in 0..50 {
        for limit in &limits {
            let (key, id) = (caller.to_string(), Id::from_bits(1));
            let mut answer = twin.ask(Time::EPOCH, &Set::one(&Check::new(limit, &key), id));
            let set = Check::new(limit, &key);
            Twin::explained(&Set::one(&set, id), &mut answer);
        }
    }
    wait_until("all keys are gone", Duration::from_secs(30), || twin.keys().is_empty());
}
