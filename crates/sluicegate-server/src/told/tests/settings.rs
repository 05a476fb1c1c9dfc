//! The names and forms that a rule file asks for.

use std::time::Duration;

use super::{Heard, Stage};

fn stage(settings: &str) -> Stage {
    Stage::new(&format!(
        "headers: {{ {settings} }}
rules: [{{ name: api, key: ip, limit: 2/min, cost: 2 }}]
"
    ))
}

fn names(heard: &Heard) -> Vec<&'static str> {
    heard.headers.iter().map(|(name, _)| *name).collect()
}

#[test]
fn headers_are_called_as_the_file_says() {
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
            let stage = stage(&format!(
                "names: {spelling}, ietf: {ietf}, upgrade_url: 'https://example.com/plans'"
            ));
            let lists: &[&str] = if ietf { &LISTS } else { &[] };
            assert_eq!(names(&stage.ask()), [family, lists].concat(), "{spelling}, {ietf}");
            let upgrade = match spelling {
                "off" => &[][..],
                "x-rate-limit" => &["x-rate-limit-upgrade-url"],
                _ => &["x-ratelimit-upgrade-url"],
            };
            let refusal = ["retry-after", "cache-control"];
            let expected = [family, upgrade, lists, &refusal].concat();
            assert_eq!(names(&stage.ask()), expected, "{spelling}, {ietf}");
        }
    }
}

#[test]
fn a_reset_is_told_from_now_on_or_as_a_moment_and_rounded_up_either_way() {
    let (delta, epoch) = (stage("reset: delta"), stage("reset: epoch"));
    for stage in [&delta, &epoch] {
        stage.clock.advance(Duration::from_millis(1_000_500));
    }
    assert_eq!(delta.ask().number("x-ratelimit-reset"), Some(60));
    // The clock begins with 2026.
    assert_eq!(epoch.ask().number("x-ratelimit-reset"), Some(1_767_226_661), "…660.5");
    for stage in [&delta, &epoch] {
        stage.clock.advance(Duration::from_millis(500));
    }
    assert_eq!(delta.ask().number("x-ratelimit-reset"), Some(60), "59.5");
    assert_eq!(epoch.ask().number("x-ratelimit-reset"), Some(1_767_226_661), "the same moment");
    let refused = epoch.ask();
    assert_eq!(refused.number("retry-after"), Some(60), "never a moment");
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=0;t=30"));
}

#[test]
fn numbers_have_as_many_digits_as_a_structured_field_may() {
    let stage = Stage::new(
        "rules: [{ name: api, key: ip, limit: 4503599627370496/day, algorithm: fixed_window }]",
    );
    let heard = stage.ask();
    assert_eq!(heard.list("ratelimit-policy")[0].number("q"), Some(999_999_999_999_999));
    assert_eq!(heard.list("ratelimit")[0].number("r"), Some(999_999_999_999_999));
    assert_eq!(heard.number("x-ratelimit-limit"), Some(4_503_599_627_370_496));
}
