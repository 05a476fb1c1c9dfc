//! Races with known outcomes: a store decides each set in one atomic step.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sluicegate::{Check, Cooldown, Cost, Limit, Limiter, ManualClock, Plan, Span, Store};
use sluicegate_testkit::block_on;

use crate::limits::every_algorithm;

const THREADS: usize = 8;
/// The capacity of the limits; none of it refills while time does not pass.
const TOKENS: u32 = 200;

/// Runs all races.
pub fn all<S: Store>(mut make: impl FnMut(ManualClock) -> S) {
    racing_threads_get_exactly_the_tokens_there_are(&mut make);
    racing_sets_charge_all_or_nothing(&mut make);
    opposite_orders_do_not_deadlock(&mut make);
    a_receipt_raced_for_is_refunded_once(&mut make);
    holders_never_exceed_the_slots(&mut make);
    failures_reported_together_block_once(&mut make);
    attempts_made_together_stay_within_the_failures(&mut make);
}

fn limiter<S: Store>(make: &mut impl FnMut(ManualClock) -> S) -> Limiter<S> {
    Limiter::new(make(ManualClock::default()))
}

/// Runs `work` on all threads concurrently.
fn race(work: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
            });
        }
    });
}

fn racing_threads_get_exactly_the_tokens_there_are<S: Store>(
    make: &mut impl FnMut(ManualClock) -> S,
) {
    for limit in every_algorithm(TOKENS, "day") {
        let limiter = limiter(make);
        let admitted = AtomicU64::new(0);
        race(|_| {
            for _ in 0..TOKENS {
                let check = Check::new(&limit, "one key");
                if block_on(limiter.check(check).into_future()).expect("decided").is_allowed() {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        assert_eq!(admitted.into_inner(), u64::from(TOKENS), "{}", limit.name());
    }
}

fn racing_sets_charge_all_or_nothing<S: Store>(make: &mut impl FnMut(ManualClock) -> S) {
    let limits = every_algorithm(TOKENS, "day");
    let scarce = Limit::token_bucket("scarce", "1/day burst 50".parse().expect("a quota"));
    let scarce = scarce.expect("a limit");
    let limiter = limiter(make);
    let admitted = AtomicU64::new(0);
    race(|_| {
        for _ in 0..50 {
            let mut plan = Plan::new();
            for limit in &limits {
                plan.require(Check::new(limit, "shared"));
            }
            plan.require(Check::new(&scarce, "shared"));
            if block_on(limiter.check_plan(&plan).into_future()).expect("decided").is_allowed() {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!(admitted.into_inner(), 50);
    for limit in &limits {
        let left = block_on(limiter.peek(limit, "shared").into_future()).expect("decided");
        assert_eq!(
            left.remaining(),
            u64::from(TOKENS) - 50,
            "{}: charged once per admission",
            limit.name()
        );
    }
}

fn opposite_orders_do_not_deadlock<S: Store>(make: &mut impl FnMut(ManualClock) -> S) {
    let limit = Limit::token_bucket("any", "1/day burst 10000".parse().expect("a quota"));
    let limit = limit.expect("a limit");
    let limiter = limiter(make);
    let keys: Vec<String> = (0..16).map(|key| format!("key {key}")).collect();
    race(|thread| {
        for _ in 0..100 {
            let mut plan = Plan::new();
            let mut order: Vec<&String> = keys.iter().collect();
            if thread % 2 == 0 {
                order.reverse();
            }
            for key in order {
                plan.require(Check::new(&limit, key));
            }
            let verdict = block_on(limiter.check_plan(&plan).into_future()).expect("decided");
            assert!(verdict.is_allowed());
        }
    });
    for key in &keys {
        let left = block_on(limiter.peek(&limit, key).into_future()).expect("decided");
        assert_eq!(left.remaining(), 10_000 - 100 * THREADS as u64);
    }
}

fn a_receipt_raced_for_is_refunded_once<S: Store>(make: &mut impl FnMut(ManualClock) -> S) {
    for limit in every_algorithm(TOKENS, "day") {
        let limiter = limiter(make);
        let take = |units: u32| Check::new(&limit, "key").cost(Cost::from(units));
        let first = block_on(limiter.check(take(150)).into_future()).expect("decided");
        let second = block_on(limiter.check(take(50)).into_future()).expect("decided");
        assert!(first.is_allowed() && second.is_allowed());
        let receipt = *second.receipt().expect("a charge has a receipt");
        let refunds = AtomicU64::new(0);
        race(|_| {
            let refund = limiter.refund(&limit, "key", receipt).into_future();
            if block_on(refund).expect("decided").is_allowed() {
                refunds.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(refunds.into_inner(), 1, "{}", limit.name());
        let left = block_on(limiter.peek(&limit, "key").into_future()).expect("decided");
        assert_eq!(left.remaining(), 50, "{}", limit.name());
    }
}

fn holders_never_exceed_the_slots<S: Store>(make: &mut impl FnMut(ManualClock) -> S) {
    let limit = Limit::concurrency("slots", 3, Span::from_secs(60)).expect("a limit");
    let limiter = limiter(make);
    let in_flight = AtomicU64::new(0);
    race(|_| {
        for _ in 0..200 {
            let hold = limiter.hold(Check::new(&limit, "tenant")).into_future();
            if let sluicegate::TryHold::Held(guard) = block_on(hold).expect("decided") {
                assert!(in_flight.fetch_add(1, Ordering::SeqCst) < 3, "more than the slots");
                in_flight.fetch_sub(1, Ordering::SeqCst);
                drop(guard);
            }
        }
    });
    let left = block_on(limiter.peek(&limit, "tenant").into_future()).expect("decided");
    assert_eq!(left.remaining(), 3, "every guard gave its slot back");
}

fn failures_reported_together_block_once<S: Store>(make: &mut impl FnMut(ManualClock) -> S) {
    let minutes = |count: u64| Span::from_secs(count * 60);
    let limit = Limit::cooldown(
        "login",
        Cooldown {
            after: 5,
            within: minutes(10),
            block: minutes(15),
            escalation: None,
            pending: None,
            reset_on_success: false,
        },
    );
    let limit = limit.expect("a limit");
    let limiter = limiter(make);
    let counted = AtomicU64::new(0);
    race(|_| {
        let report = limiter.charge(&limit, "mallory", Cost::ONE).into_future();
        counted.fetch_add(block_on(report).expect("decided").granted(), Ordering::Relaxed);
    });
    assert_eq!(counted.into_inner(), 5, "failures beyond the fifth meet a block");
    let now = block_on(limiter.peek(&limit, "mallory").into_future()).expect("decided");
    assert_eq!(now.retry_after(), Some(minutes(15)));
}

fn attempts_made_together_stay_within_the_failures<S: Store>(
    make: &mut impl FnMut(ManualClock) -> S,
) {
    let minutes = |count: u64| Span::from_secs(count * 60);
    let cooldown = Cooldown {
        after: 5,
        within: minutes(10),
        block: minutes(15),
        escalation: None,
        pending: Some(minutes(1)),
        reset_on_success: false,
    };
    let limit = Limit::cooldown("login", cooldown).expect("a limit");
    let limiter = limiter(make);
    let evaluated = AtomicU64::new(0);
    race(|_| {
        for _ in 0..25 {
            let attempt = limiter.check(Check::new(&limit, "mallory")).into_future();
            if block_on(attempt).expect("decided").is_allowed() {
                evaluated.fetch_add(1, Ordering::Relaxed);
                let report = limiter.charge(&limit, "mallory", Cost::ONE).into_future();
                block_on(report).expect("decided");
            }
        }
    });
    assert_eq!(evaluated.into_inner(), 5, "as many guesses as failures are allowed");
    let now = block_on(limiter.peek(&limit, "mallory").into_future()).expect("decided");
    assert_eq!(now.retry_after(), Some(minutes(15)));
}
