//! Tests of the header settings of a rule file.

use std::time::Duration;

use super::{Response, TestLimiter};

fn limiter(settings: &str) -> TestLimiter {
    TestLimiter::new(&format!(
        "headers: {{ {settings} }}
rules: [{{ name: api, key: ip, limit: 2/min, cost: 2 }}]
"
    ))
}

fn names(response: &Response) -> Vec<&'static str> {
    response.headers.iter().map(|(name, _)| *name).collect()
}

#[test]
fn header_names_follow_the_settings() {
    const LISTS: [&str; 2] = ["ratelimit-policy", "ratelimit"];
    for (spelling, family) in [
        (
            "x-ratelimit",
            &[
                "x-ratelimit-limit",
                "x-ratelimit-remaining",
                "x-ratelimit-reset",
                "x-ratelimit-cost",
            ][..],
        ),
        (
            "x-rate-limit",
            &[
                "x-rate-limit-limit",
                "x-rate-limit-remaining",
                "x-rate-limit-reset",
                "x-rate-limit-cost",
            ],
        ),
        (
            "ratelimit-legacy",
            &["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-cost"],
        ),
        ("off", &[]),
    ] {
        for ietf in [true, false] {
            let limiter = limiter(&format!(
                "names: {spelling}, ietf: {ietf}, upgrade_url: 'https://example.com/plans'"
            ));
            let lists: &[&str] = if ietf { &LISTS } else { &[] };
            assert_eq!(names(&limiter.request()), [family, lists].concat(), "{spelling}, {ietf}");
            let upgrade = match spelling {
                "off" => &[][..],
                "x-rate-limit" => &["x-rate-limit-upgrade-url"],
                _ => &["x-ratelimit-upgrade-url"],
            };
            let refusal = ["retry-after", "cache-control"];
            let expected = [family, upgrade, lists, &refusal].concat();
            assert_eq!(names(&limiter.request()), expected, "{spelling}, {ietf}");
        }
    }
}

#[test]
fn a_reset_is_a_delta_or_a_timestamp_rounded_up() {
    let (delta, epoch) = (limiter("reset: delta"), limiter("reset: epoch"));
    for limiter in [&delta, &epoch] {
        limiter.clock.advance(Duration::from_millis(1_000_500));
    }
    assert_eq!(delta.request().number("x-ratelimit-reset"), Some(60));
    // The clock starts at the beginning of 2026.
    assert_eq!(epoch.request().number("x-ratelimit-reset"), Some(1_767_226_661), "…660.5");
    for limiter in [&delta, &epoch] {
        limiter.clock.advance(Duration::from_millis(500));
    }
    assert_eq!(delta.request().number("x-ratelimit-reset"), Some(60), "59.5");
    assert_eq!(
        epoch.request().number("x-ratelimit-reset"),
        Some(1_767_226_661),
        "the same timestamp"
    );
    let refused = epoch.request();
    assert_eq!(refused.number("retry-after"), Some(60), "never a timestamp");
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=0;t=30"));
}

#[test]
fn numbers_of_structured_fields_have_at_most_15_digits() {
    let limiter = TestLimiter::new(
        "rules: [{ name: api, key: ip, limit: 4503599627370496/day, algorithm: fixed_window }]",
    );
    let response = limiter.request();
    assert_eq!(response.list("ratelimit-policy")[0].number("q"), Some(999_999_999_999_999));
    assert_eq!(response.list("ratelimit")[0].number("r"), Some(999_999_999_999_999));
    assert_eq!(response.number("x-ratelimit-limit"), Some(4_503_599_627_370_496));
}
