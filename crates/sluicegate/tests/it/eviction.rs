//! Recovered counters are evicted, others are kept.

use std::time::Duration;

use sluicegate::{Check, Cost, Limit, Limiter, ManualClock, Memory};

#[test]
fn recovered_counters_make_room_and_spent_ones_stay() {
    let clock = ManualClock::default();
    let limiter = Limiter::new(Memory::with_clock(clock.clone()));
    let slow = Limit::token_bucket("slow", "1/day".parse().unwrap()).unwrap();
    let quick = Limit::token_bucket("quick", "1/s".parse().unwrap()).unwrap();
    let ask = |limit: &Limit, key: &str| limiter.check(Check::new(limit, key)).now().unwrap();
    let spent: Vec<String> = (0..1_000).map(|user| format!("spent {user}")).collect();
    assert!(spent.iter().all(|key| ask(&slow, key).is_allowed()));
    for wave in 0..10 {
        clock.advance(Duration::from_secs(1));
        for user in 0..40_000 {
            assert!(ask(&quick, &format!("{wave}/{user}")).is_allowed());
        }
    }
    let kept = limiter.store().len();
    assert!(kept < 200_000, "{kept} counters kept of 400000, most of which have recovered");
    assert!(spent.iter().all(|key| !ask(&slow, key).is_allowed()), "none was forgotten");
}

#[test]
fn a_settlement_is_stored_as_long_as_it_can_matter() {
    let clock = ManualClock::default();
    let limiter = Limiter::new(Memory::with_clock(clock.clone()));
    let limit = Limit::token_bucket("api", "10/s".parse().unwrap()).unwrap();
    let first = limiter.check(Check::new(&limit, "key")).now().unwrap();
    let receipt = *first.receipt().unwrap();
    assert!(limiter.refund(&limit, "key", receipt).now().unwrap().is_allowed());
    assert!(limiter.check(Check::new(&limit, "key")).now().unwrap().is_allowed());
    let again = limiter.refund(&limit, "key", receipt).now().unwrap();
    assert_eq!(again.refusal().map(sluicegate::Refusal::as_str), Some("spent"));
    clock.advance(Duration::from_millis(100));
    let late = limiter.refund(&limit, "key", receipt).now().unwrap();
    assert_eq!(
        late.refusal().map(sluicegate::Refusal::as_str),
        Some("spent"),
        "also when nothing is left"
    );
    clock.advance(Duration::from_secs(600));
    let lapsed = limiter.refund(&limit, "key", receipt).now().unwrap();
    assert_eq!(
        lapsed.refusal().map(sluicegate::Refusal::as_str),
        Some("lost"),
        "ten minutes are enough"
    );
}

#[test]
fn units_beyond_the_reservation_are_charged_once_however_late() {
    let clock = ManualClock::default();
    let limiter = Limiter::new(Memory::with_clock(clock.clone()));
    let limit = Limit::token_bucket("tokens", "100/s burst 1000".parse().unwrap()).unwrap();
    let reserved = limiter.check(Check::new(&limit, "key")).now().unwrap();
    let receipt = *reserved.receipt().unwrap();
    clock.advance(Duration::from_secs(30));
    let settle = || limiter.settle(&limit, "key", receipt, Cost::from(501)).now().unwrap();
    assert_eq!(settle().remaining(), 500, "the reservation has long refilled, the rest is owed");
    for _ in 0..3 {
        clock.advance(Duration::from_millis(10));
        assert_eq!(settle().refusal().map(sluicegate::Refusal::as_str), Some("spent"));
    }
}
