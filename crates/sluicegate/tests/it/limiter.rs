//! One key, many keys, plans, receipts and resets through the limiter.

use std::time::Duration;

use sluicegate::{
    Check, CheckError, Cost, Limit, Limiter, ManualClock, Memory, Operation, Per, Plan, Span, Time,
    period_at,
};

type ManualLimiter = Limiter<Memory<ManualClock>>;

fn manual() -> (ManualClock, ManualLimiter) {
    let clock = ManualClock::default();
    (clock.clone(), Limiter::new(Memory::with_clock(clock)))
}

fn bucket(text: &str) -> Limit {
    Limit::token_bucket("bucket", text.parse().expect("a quota")).expect("a limit")
}

#[test]
fn limits_of_one_key_count_apart() {
    let (_, limiter) = manual();
    let one = Limit::token_bucket("one", "1/min".parse().unwrap()).unwrap();
    let other = Limit::token_bucket("other", "1/min".parse().unwrap()).unwrap();
    assert!(limiter.check(Check::new(&one, "key")).now().unwrap().is_allowed());
    assert!(limiter.check(Check::new(&other, "key")).now().unwrap().is_allowed());
    assert!(!limiter.check(Check::new(&one, "key")).now().unwrap().is_allowed());
}

#[test]
fn names_and_keys_do_not_run_into_each_other() {
    let (_, limiter) = manual();
    let limit = |name: &'static str| Limit::token_bucket(name, "1/min".parse().unwrap()).unwrap();
    let (short, long) = (limit("a"), limit("ab"));
    assert!(limiter.check(Check::new(&short, "bc")).now().unwrap().is_allowed());
    assert!(limiter.check(Check::new(&long, "c")).now().unwrap().is_allowed());
}

#[test]
fn any_bytes_are_a_key_and_the_empty_one_too() {
    let (_, limiter) = manual();
    let limit = bucket("1/min");
    let keys: [&[u8]; 5] = [b"", b"\0", b"\0\0", &[0xff, 0xfe], "ключ 🔑\r\n".as_bytes()];
    for key in keys {
        assert!(limiter.check(Check::new(&limit, key)).now().unwrap().is_allowed(), "{key:?}");
        assert!(!limiter.check(Check::new(&limit, key)).now().unwrap().is_allowed(), "{key:?}");
    }
}

#[test]
fn a_key_that_is_too_long_is_an_error_that_says_so() {
    let (_, limiter) = manual();
    let limit = bucket("1/min");
    let longest = vec![b'k'; ManualLimiter::MAX_KEY];
    assert!(limiter.check(Check::new(&limit, &longest)).now().unwrap().is_allowed());
    let megabyte = vec![b'k'; 1 << 20];
    let error = limiter.check(Check::new(&limit, &megabyte)).now().unwrap_err();
    assert_eq!(error, CheckError::KeyTooLong { bytes: 1 << 20 });
    assert_eq!(
        error.to_string(),
        "cannot check a key of 1048576 bytes; use at most 4096, or a digest of it"
    );
}

#[test]
fn many_are_checked_up_to_the_first_invalid_key() {
    let (_, limiter) = manual();
    let limit = bucket("1/min");
    let megabyte = vec![b'k'; 1 << 20];
    let keys: [&[u8]; 3] = [b"fine", &megabyte, b"after"];
    let checks = keys.map(|key| Check::new(&limit, key));
    assert_eq!(limiter.try_check_batch(&checks, |_| ()), 1);
    assert_eq!(limiter.peek(&limit, "fine").now().unwrap().remaining(), 0);
    assert_eq!(limiter.peek(&limit, "after").now().unwrap().remaining(), 1);
}

#[test]
fn a_plan_that_is_too_large_is_an_error_that_says_so() {
    let (_, limiter) = manual();
    let limit = bucket("1000/min");
    let mut plan = Plan::new();
    for _ in 0..ManualLimiter::MAX_CHECKS {
        plan.require(Check::new(&limit, "key"));
    }
    assert!(limiter.check_plan(&plan).now().unwrap().is_allowed());
    plan.require(Check::new(&limit, "key"));
    let error = limiter.check_plan(&plan).now().unwrap_err();
    assert_eq!(error.to_string(), "cannot decide 65 checks in one step; use at most 64");
}

#[test]
fn two_limits_of_one_name_on_one_key_are_an_error_that_says_so() {
    let (_, limiter) = manual();
    let second = Limit::sliding_log("api", "10/s".parse().unwrap()).unwrap();
    let day = Limit::sliding_log("api", "1000/day".parse().unwrap()).unwrap();
    let mut plan = Plan::new();
    plan.require(Check::new(&second, "key")).require(Check::new(&day, "key"));
    let error = limiter.check_plan(&plan).now().unwrap_err();
    assert_eq!(error, CheckError::ContradictoryLimits);
    assert!(error.to_string().ends_with("give the limits names of their own"));
    assert!(limiter.store().is_empty(), "no counter was charged");
    let mut plan = Plan::new();
    plan.require(Check::new(&second, "key")).require(Check::new(&day, "another key"));
    assert!(limiter.check_plan(&plan).now().unwrap().is_allowed());
}

#[test]
fn time_saturates_and_grants_nothing() {
    let (clock, limiter) = manual();
    let limit = bucket("5/s");
    clock.advance(Duration::MAX);
    let all = || Check::new(&limit, "key").cost(Cost::from(5));
    assert!(limiter.check(all()).now().unwrap().is_allowed());
    clock.advance(Duration::MAX);
    assert!(!limiter.check(all()).now().unwrap().is_allowed());
}

#[test]
fn an_empty_plan_is_allowed() {
    let (_, limiter) = manual();
    let verdict = limiter.check_plan(&Plan::new()).now().unwrap();
    assert!(verdict.is_allowed() && verdict.strictest().is_none());
}

#[test]
fn several_windows_on_one_key_hold_together() {
    let (clock, limiter) = manual();
    let windows = [("second", "2/s"), ("minute", "3/min"), ("day", "4/day")]
        .map(|(name, quota)| Limit::sliding_log(name, quota.parse().unwrap()).unwrap());
    let ask = || {
        let mut plan = Plan::new();
        for window in &windows {
            plan.require(Check::new(window, "user:42"));
        }
        limiter.check_plan(&plan).now().unwrap()
    };
    assert!(ask().is_allowed() && ask().is_allowed());
    let verdict = ask();
    assert_eq!(verdict.strictest().unwrap().check, 0);
    assert_eq!(verdict.retry_after(), Some(Span::from_secs(1)));
    clock.advance(Duration::from_secs(1));
    assert!(ask().is_allowed());
    clock.advance(Duration::from_secs(1));
    let verdict = ask();
    assert_eq!(verdict.strictest().unwrap().check, 1, "the minute is full");
    let left: Vec<_> = verdict.decisions().iter().map(|d| d.unwrap().remaining()).collect();
    assert_eq!(left, [2, 0, 1], "each window as it stands: the refused request used none up");
}

#[test]
fn a_fixed_window_follows_the_calendar_of_its_clock() {
    let (clock, limiter) = manual();
    let monthly = Limit::fixed_window("monthly", "2/month".parse().unwrap()).unwrap();
    let ask = || limiter.check(Check::new(&monthly, "key")).now().unwrap();
    assert!(ask().is_allowed() && ask().is_allowed());
    let refused = ask();
    assert_eq!(refused.retry_after(), Some(Span::from_secs(31 * 86_400)), "January has 31 days");
    clock.advance(Duration::from_secs(31 * 86_400 - 1));
    assert!(!ask().is_allowed());
    clock.advance(Duration::from_secs(1));
    assert!(ask().is_allowed());
}

#[test]
fn a_period_handed_in_is_kept_while_it_holds() {
    let (clock, limiter) = manual();
    let limit = Limit::fixed_window("night", "1/day".parse().unwrap()).unwrap();
    let day = period_at(Per::Span(Span::from_secs(86_400)), Time::from_micros(0));
    let ask = || limiter.check(Check::new(&limit, "key").within(day)).now().unwrap();
    assert!(ask().is_allowed(), "a period long gone is replaced by today");
    clock.advance(Duration::from_secs(86_400));
    assert!(ask().is_allowed());
}

#[test]
fn a_reservation_is_settled_to_its_actual_cost() {
    let (_, limiter) = manual();
    let tokens = bucket("1000/day burst 1000");
    let take = |units: u32| Check::new(&tokens, "tenant").cost(Cost::from(units));
    let reserved = limiter.check(take(600)).now().unwrap();
    let receipt = *reserved.receipt().unwrap();
    let settled = limiter.settle(&tokens, "tenant", receipt, Cost::from(250)).now().unwrap();
    assert_eq!((settled.granted(), settled.remaining()), (250, 750));
    let again = limiter.settle(&tokens, "tenant", receipt, Cost::ZERO).now().unwrap();
    assert_eq!(again.refusal().map(sluicegate::Refusal::as_str), Some("spent"));
    let reserved = limiter.check(take(100)).now().unwrap();
    let receipt = *reserved.receipt().unwrap();
    let settled = limiter.settle(&tokens, "tenant", receipt, Cost::from(900)).now().unwrap();
    assert_eq!((settled.granted(), settled.remaining()), (900, 0), "into debt");
    let refused = limiter.peek(&tokens, "tenant").now().unwrap();
    assert!(!refused.is_allowed(), "a debt is paid before anything else");
}

#[test]
fn a_reset_starts_afresh() {
    let (_, limiter) = manual();
    let limit = bucket("5/day");
    let all = Check::new(&limit, "key").with_operation(Operation::up_to(Cost::MAX, Cost::ONE));
    assert_eq!(limiter.check(all).now().unwrap().granted(), 5);
    assert_eq!(limiter.reset(&limit, "key").now().unwrap().remaining(), 5);
}

#[tokio::test(flavor = "current_thread")]
async fn the_same_calls_are_awaited() {
    let (_, limiter) = manual();
    let limit = bucket("2/min");
    assert!(limiter.check(Check::new(&limit, "key")).await.unwrap().is_allowed());
    let mut plan = Plan::new();
    plan.require(Check::new(&limit, "key"));
    assert!(limiter.check_plan(&plan).await.unwrap().is_allowed());
    assert!(!limiter.check_plan(&plan).await.unwrap().is_allowed());
    assert!(!limiter.check_batch(&[plan]).await[0].as_ref().unwrap().is_allowed());
}

#[test]
fn the_system_clock_advances() {
    let limiter = Limiter::in_memory();
    let limit = bucket("1000000/s burst 1");
    let mut admitted = 0;
    while admitted < 3 {
        // One per microsecond: only a clock that advances admits three.
        admitted += u32::from(limiter.check(Check::new(&limit, "key")).now().unwrap().is_allowed());
    }
}
