//! Waiting for a turn, on a manual clock.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use sluicegate::{Check, Clock, Cost, Limit, Limiter, ManualClock, Memory, Span, TryHold};
use sluicegate_testkit::poll_once;

type ManualLimiter = Limiter<Memory<ManualClock>>;

fn manual() -> (ManualClock, ManualLimiter) {
    let clock = ManualClock::default();
    (clock.clone(), Limiter::new(Memory::with_clock(clock)))
}

/// Polls a future to completion, advancing the clock to each time it waits for.
fn run<F: Future>(clock: &ManualClock, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = poll_once(future.as_mut()) {
            return output;
        }
        clock.set(clock.next_wake().expect("each waiter has a time"));
    }
}

const MINUTE: Duration = Duration::from_secs(60);

fn quota<Q: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Q {
    text.parse().expect("a quota")
}

#[test]
fn a_bucket_gives_turns_in_the_order_of_asking() {
    let (clock, limiter) = manual();
    let limit = Limit::token_bucket("api", quota("1/s burst 2")).unwrap();
    let start = clock.now();
    let check = || Check::new(&limit, "account");
    assert!(limiter.check(check().cost(Cost::from(2))).now().unwrap().is_allowed());
    let mut first = pin!(limiter.wait(check(), MINUTE).into_future());
    let mut second = pin!(limiter.wait(check(), MINUTE).into_future());
    assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
    clock.advance(Duration::from_millis(999));
    assert!(poll_once(first.as_mut()).is_pending());
    clock.advance(Duration::from_millis(1));
    assert!(poll_once(second.as_mut()).is_pending(), "the second is not first");
    let Poll::Ready(turn) = poll_once(first.as_mut()) else { panic!("its turn has come") };
    assert!(turn.unwrap().is_allowed());
    clock.advance(Duration::from_secs(1));
    assert!(poll_once(second.as_mut()).is_ready());
    assert_eq!(clock.now().since(start), Span::from_secs(2));
}

#[test]
fn a_turn_that_cannot_come_in_time_is_refused_immediately() {
    let (clock, limiter) = manual();
    for limit in [
        Limit::token_bucket("token", quota("1/min")).unwrap(),
        Limit::queue("queue", quota("1/min burst 5")).unwrap(),
        Limit::fixed_window("fixed", quota("1/hour")).unwrap(),
        Limit::sliding_log("log", quota("1/min")).unwrap(),
    ] {
        let start = clock.now();
        let check = || Check::new(&limit, "account");
        assert!(limiter.check(check()).now().unwrap().is_allowed());
        let wait = limiter.wait(check(), Duration::from_secs(59));
        let refused = run(&clock, wait.into_future()).unwrap();
        assert!(!refused.is_allowed(), "{}", limit.name());
        assert_eq!(clock.now(), start, "no caller waited for nothing");
    }
}

#[test]
fn waits_for_every_algorithm_with_a_retry_time() {
    let (clock, limiter) = manual();
    for (limit, seconds) in [
        (Limit::token_bucket("token", quota("1/min")).unwrap(), 60),
        (Limit::token_bucket("no debt", quota("1/min")).unwrap().without_debt(), 60),
        (Limit::queue("queue", quota("1/min burst 5")).unwrap(), 60),
        (Limit::fixed_window("fixed", quota("1/hour")).unwrap(), 3_600),
        (Limit::sliding_log("log", quota("1/min")).unwrap(), 60),
    ] {
        clock.set(ManualClock::default().now());
        let check = || Check::new(&limit, "account");
        assert!(limiter.check(check()).now().unwrap().is_allowed());
        let wait = limiter.wait(check(), Duration::from_secs(seconds));
        assert!(run(&clock, wait.into_future()).unwrap().is_allowed(), "{}", limit.name());
        let waited = clock.now().since(ManualClock::default().now());
        assert_eq!(waited, Span::from_secs(seconds), "{}", limit.name());
    }
}

#[test]
fn a_cancelled_wait_refunds_its_turn() {
    let (clock, limiter) = manual();
    let limit = Limit::token_bucket("api", quota("1/s burst 1")).unwrap();
    let check = || Check::new(&limit, "account");
    assert!(limiter.check(check()).now().unwrap().is_allowed());
    {
        let mut given_up = pin!(limiter.wait(check(), MINUTE).into_future());
        assert!(poll_once(given_up.as_mut()).is_pending());
        assert_eq!(
            limiter.peek(&limit, "account").now().unwrap().reset_after(),
            Span::from_secs(2)
        );
    }
    assert_eq!(limiter.peek(&limit, "account").now().unwrap().reset_after(), Span::from_secs(1));
    assert_eq!(clock.next_wake(), None, "no waiter is left");
}

#[test]
fn a_cost_that_never_fits_is_not_waited_for() {
    let (clock, limiter) = manual();
    let limit = Limit::token_bucket("api", quota("1/s burst 3")).unwrap();
    let check = Check::new(&limit, "account").cost(Cost::from(4));
    let refused = run(&clock, limiter.wait(check, MINUTE).into_future()).unwrap();
    assert_eq!(refused.refusal().map(sluicegate::Refusal::as_str), Some("cost_above_limit"));
}

#[test]
fn a_slot_is_waited_for_until_it_is_free() {
    let (clock, limiter) = manual();
    let limit = Limit::concurrency("slots", 1, Span::from_secs(3_600)).unwrap();
    let check = || Check::new(&limit, "tenant");
    let TryHold::Held(guard) = limiter.hold(check()).now().unwrap() else { panic!("a free slot") };
    let mut waiting = pin!(limiter.wait(check(), MINUTE).into_future());
    assert!(poll_once(waiting.as_mut()).is_pending());
    clock.advance(Duration::from_secs(1));
    assert!(poll_once(waiting.as_mut()).is_pending());
    drop(guard);
    assert!(run(&clock, waiting).unwrap().is_allowed());
    let full = run(&clock, limiter.wait(check(), MINUTE).into_future()).unwrap();
    assert_eq!(
        full.refusal().map(sluicegate::Refusal::as_str),
        Some("busy"),
        "until patience runs out"
    );
}

#[test]
fn a_thread_waits_on_the_machines_clock() {
    let limiter = Limiter::in_memory();
    let limit = Limit::token_bucket("api", quota("500/s burst 1")).unwrap();
    for _ in 0..4 {
        let turn = limiter.wait(Check::new(&limit, "account"), MINUTE).blocking().unwrap();
        assert!(turn.is_allowed());
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_task_waits_on_the_machines_clock() {
    let limiter = Limiter::in_memory();
    let limit = Limit::queue("api", quota("500/s")).unwrap();
    for _ in 0..4 {
        assert!(limiter.wait(Check::new(&limit, "account"), MINUTE).await.unwrap().is_allowed());
    }
}
