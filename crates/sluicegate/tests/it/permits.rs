//! Slots that are held while something is in flight.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sluicegate::{Check, Cost, Limit, Limiter, ManualClock, Memory, Permit, Span, TryHold};

type ManualLimiter = Limiter<Memory<ManualClock>>;

fn manual() -> (ManualClock, ManualLimiter, Limit) {
    let clock = ManualClock::default();
    let limit = Limit::concurrency("slots", 2, Span::from_secs(10)).unwrap();
    (clock.clone(), Limiter::new(Memory::with_clock(clock)), limit)
}

fn hold(limiter: &ManualLimiter, limit: &Limit) -> Option<Permit<Memory<ManualClock>>> {
    match limiter.hold(Check::new(limit, "tenant")).now().unwrap() {
        TryHold::Held(guard) => Some(guard),
        TryHold::Refused(decision) => {
            assert_eq!(decision.refusal().map(sluicegate::Refusal::as_str), Some("busy"));
            assert_eq!(decision.retry_after(), None);
            None
        }
    }
}

fn free(limiter: &ManualLimiter, limit: &Limit) -> u64 {
    limiter.peek(limit, "tenant").now().unwrap().remaining()
}

#[test]
fn a_guard_gives_its_slot_back_when_it_is_dropped() {
    let (_, limiter, limit) = manual();
    let first = hold(&limiter, &limit);
    let second = hold(&limiter, &limit);
    assert!(first.is_some() && second.is_some() && hold(&limiter, &limit).is_none());
    drop(first);
    assert_eq!(free(&limiter, &limit), 1);
    drop(second);
    assert_eq!(free(&limiter, &limit), 2);
}

#[test]
fn a_panic_gives_the_slot_back() {
    let (_, limiter, limit) = manual();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = hold(&limiter, &limit);
        panic!("while in flight");
    }));
    assert!(panicked.is_err());
    assert_eq!(free(&limiter, &limit), 2);
}

#[test]
fn a_lease_that_is_renewed_lasts() {
    let (clock, limiter, limit) = manual();
    let guard = hold(&limiter, &limit).unwrap();
    for _ in 0..5 {
        clock.advance(Duration::from_secs(9));
        assert!(guard.renew().now().unwrap().is_allowed());
    }
    assert_eq!(free(&limiter, &limit), 1);
    assert!(guard.release().now().unwrap().is_allowed());
    assert_eq!(free(&limiter, &limit), 2);
}

#[test]
fn a_lease_that_ran_out_is_reported_and_takes_nothing_from_others() {
    let (clock, limiter, limit) = manual();
    let overdue = hold(&limiter, &limit).unwrap();
    clock.advance(Duration::from_secs(10));
    let (_a, _b) = (hold(&limiter, &limit).unwrap(), hold(&limiter, &limit).unwrap());
    assert_eq!(
        overdue.renew().now().unwrap().refusal().map(sluicegate::Refusal::as_str),
        Some("lost")
    );
    let released = overdue.release().now().unwrap();
    assert_eq!(released.refusal().map(sluicegate::Refusal::as_str), Some("lost"));
    assert_eq!(free(&limiter, &limit), 0, "the others still hold theirs");
}

#[test]
fn only_slots_can_be_held() {
    let (_, limiter, limit) = manual();
    let bucket = Limit::token_bucket("bucket", "2/day".parse().unwrap()).unwrap();
    let error = limiter.hold(Check::new(&bucket, "tenant")).now().unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot hold a slot of a limit by token_bucket; use Limit::concurrency, or check and refund"
    );
    assert_eq!(limiter.peek(&bucket, "tenant").now().unwrap().remaining(), 2);
    let none = limiter.hold(Check::new(&limit, "tenant").cost(Cost::ZERO)).now().unwrap();
    let TryHold::Held(guard) = none else { panic!("no slots are always to be had") };
    assert!(guard.receipt().is_none() && guard.renew().now().unwrap().is_allowed());
    drop(guard);
    assert_eq!(free(&limiter, &limit), 2);
}
