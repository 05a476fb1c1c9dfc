//! The errors of limits that cannot be created, and the properties of those that can.

use super::*;

fn quota(text: &str) -> Quota {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(limit: Result<Limit, LimitError>) -> String {
    limit.expect_err("refused").reason().to_string()
}

#[test]
fn names_are_there_and_not_too_long() {
    let named = |name: String| Limit::token_bucket(name, quota("1/s"));
    assert!(named("n".repeat(Limit::MAX_NAME)).is_ok());
    assert_eq!(refusal(named(String::new())), "its name is empty; give it one, as in `api`");
    let long = named("n".repeat(Limit::MAX_NAME + 1));
    assert_eq!(refusal(long), "its name has 129 bytes; use at most 128");
    let error = named("ü".repeat(1_000)).expect_err("refused").to_string();
    assert!(error.len() < 400, "{error}");
}

#[test]
fn a_bucket_that_cannot_be_exact_names_one_that_can() {
    let refused = |text: &str| refusal(Limit::token_bucket("limit", quota(text)));
    assert_eq!(
        refused("999999937/day"),
        "`999999937/day` cannot be counted exactly; the nearest round amount that can is \
         999999900, and with this amount the largest burst is 4503599"
    );
    for better in ["999999900/day", "999999937/day burst 4503599"] {
        assert!(Limit::token_bucket("limit", quota(better)).is_ok(), "{better}");
    }
    assert!(Limit::token_bucket("limit", quota("999999937/day burst 4503600")).is_err());
    assert_eq!(
        refused("4503599627370495/us"),
        "`4503599627370495/us` cannot be counted exactly; use a rounder amount, or \
         with this amount the largest burst is 1"
    );
    assert_eq!(
        refused("1/day burst 20000"),
        "a bucket of 20000 would take more than 35 years to refill; \
         at this rate use a burst of at most 13031"
    );
    assert!(Limit::token_bucket("limit", quota("1/day burst 13031")).is_ok());
    assert_eq!(
        refused("1/s burst 0"),
        "a bucket of 0 never admits a request; use a burst of at least 1"
    );
    assert!(Limit::queue("limit", quota("1/s burst 0")).is_ok(), "a queue may have no places");
}

#[test]
fn months_are_for_fixed_windows() {
    let monthly = quota("100/month");
    let message = "a month has no fixed length; write `100/30days`, or use a fixed window";
    assert_eq!(refusal(Limit::token_bucket("limit", monthly)), message);
    assert_eq!(refusal(Limit::queue("limit", monthly)), message);
    assert_eq!(refusal(Limit::sliding_log("limit", monthly)), message);
    assert_eq!(refusal(Limit::sliding_window("limit", monthly, Slices::Strict(10))), message);
    let window = Limit::fixed_window("limit", monthly).expect("a limit");
    assert_eq!((window.calendar(), window.recovery()), (Some(Per::Months(1)), None));
}

#[test]
fn windows_have_no_burst_and_a_length() {
    let burst = quota("100/s burst 20");
    let message = "a window has no burst; leave out `burst 20`, or use a token bucket";
    assert_eq!(refusal(Limit::fixed_window("limit", burst)), message);
    assert_eq!(refusal(Limit::sliding_log("limit", burst)), message);
    assert_eq!(refusal(Limit::sliding_window("limit", burst, Slices::Weighted(1))), message);
    assert_eq!(
        refusal(Limit::fixed_window("limit", quota("1/999999us"))),
        "a calendar window shorter than 1s is over before it can be asked about; \
         use at least 1s, or a sliding window"
    );
    assert!(Limit::fixed_window("limit", quota("1/s")).is_ok());
}

#[test]
fn slices_divide_the_window() {
    let sliced = |text: &str, slices| Limit::sliding_window("limit", quota(text), slices);
    assert_eq!(
        refusal(sliced("9/s", Slices::Weighted(0))),
        "a window cannot have 0 slices; use 1 to 60"
    );
    assert_eq!(
        refusal(sliced("9/s", Slices::Strict(61))),
        "a window cannot have 61 slices; use 1 to 60"
    );
    assert_eq!(
        refusal(sliced("9/s", Slices::Weighted(7))),
        "1s does not divide into 7 slices of whole microseconds; use 8"
    );
    for slices in [1, 8, 60] {
        assert!(sliced("9/min", Slices::Weighted(slices)).is_ok());
    }
    assert_eq!(
        refusal(sliced("4503599627370495/999983us", Slices::Weighted(1))),
        "4503599627370495 in slices of 999983us cannot be weighted exactly; use a strict window, \
         fewer units or a window of whole seconds"
    );
    assert!(sliced("4503599627370495/999983us", Slices::Strict(1)).is_ok());
    assert!(sliced("1125899906842624/1us", Slices::Weighted(1)).is_ok(), "exactly 2^50");
    assert!(sliced("1125899906842625/1us", Slices::Weighted(1)).is_err());
}

#[test]
fn logs_slots_and_cooldowns_stay_within_reason() {
    assert!(Limit::sliding_log("limit", quota("1000/s")).is_ok());
    assert_eq!(
        refusal(Limit::sliding_log("limit", quota("1001/s"))),
        "a log of 1001 stamps is too long; use at most 1000, or a strict sliding window, \
         which never exceeds the amount either"
    );
    let second = Span::from_secs(1);
    assert_eq!(
        refusal(Limit::concurrency("limit", 0, second)),
        "0 in flight never admits a request; use at least 1 slot"
    );
    assert_eq!(
        refusal(Limit::concurrency("limit", 1, Span::ZERO)),
        "a lease of 0s is out of range; use 1us to 35 years (12775 days)"
    );
    assert!(Limit::concurrency("limit", 1, Span::MAX).is_ok());
    let longer = Span::MAX + Span::from_micros(1);
    assert!(Limit::concurrency("limit", 1, longer).is_err());
    let cooldown = Cooldown {
        after: 5,
        within: second,
        block: second,
        escalation: None,
        pending: None,
        reset_on_success: false,
    };
    let refused = |cooldown| refusal(Limit::cooldown("limit", cooldown));
    assert!(Limit::cooldown("limit", Cooldown { after: 1_000, ..cooldown }).is_ok());
    for after in [0, 1_001] {
        assert_eq!(
            refused(Cooldown { after, ..cooldown }),
            format!("a block after {after} failures is out of range; use 1 to 1000")
        );
    }
    assert!(refused(Cooldown { within: Span::ZERO, ..cooldown }).starts_with("a time within"));
    assert!(refused(Cooldown { block: Span::ZERO, ..cooldown }).starts_with("a block of 0s"));
    let escalating =
        |factor, max| Cooldown { escalation: Some(Escalation { factor, max }), ..cooldown };
    assert!(Limit::cooldown("limit", escalating(2, second)).is_ok());
    for shrinking in [escalating(1, second), escalating(2, Span::from_millis(999))] {
        assert!(refused(shrinking).contains("do not grow"));
    }
}

#[test]
fn a_limit_reports_its_properties() {
    let minute = Span::from_secs(60);
    let rows = [
        (Limit::token_bucket("l", quota("10/min burst 20")), "token_bucket", 20, 120, 120),
        (Limit::leaky_bucket("l", quota("10/min")), "leaky_bucket", 10, 60, 60),
        (Limit::queue("l", quota("10/min burst 4")), "queue", 5, 30, 24),
        (Limit::fixed_window("l", quota("10/min")), "fixed_window", 10, 60, 0),
        (
            Limit::sliding_window("l", quota("10/min"), Slices::Strict(6)),
            "sliding_window",
            10,
            60,
            0,
        ),
        (Limit::sliding_log("l", quota("10/min")), "sliding_log", 10, 60, 0),
    ];
    for (limit, algorithm, capacity, recovery, delay) in rows {
        let limit = limit.expect("a limit");
        assert_eq!((limit.algorithm(), limit.capacity()), (algorithm, capacity));
        assert_eq!(limit.recovery(), Some(Span::from_secs(recovery)), "{algorithm}");
        assert_eq!(limit.longest_delay(), Span::from_secs(delay), "{algorithm}");
        assert_eq!(limit.calendar().is_some(), algorithm == "fixed_window");
        if algorithm.ends_with("bucket") {
            assert_eq!(limit.without_debt().longest_delay(), Span::ZERO);
        }
    }
    let slots = Limit::concurrency("l", 7, minute).expect("a limit");
    assert_eq!((slots.algorithm(), slots.capacity(), slots.recovery()), ("concurrency", 7, None));
    let cooldown = Cooldown {
        after: 3,
        within: minute,
        block: minute,
        escalation: None,
        pending: None,
        reset_on_success: false,
    };
    let cooldown = Limit::cooldown("l", cooldown).expect("a limit");
    assert_eq!((cooldown.algorithm(), cooldown.capacity()), ("cooldown", 3));
    assert!(slots.holds() && !cooldown.holds());
}
