//! Property tests: invariants of the headers for random limits in random states.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::{Response, TestLimiter};

fn quota() -> impl Strategy<Value = String> {
    let per = prop::sample::select(vec!["s", "7s", "min", "15min", "hour", "day", "week"]);
    (1_u64..2_000, per).prop_map(|(amount, per)| format!("{amount}/{per}"))
}

fn rule(index: usize) -> impl Strategy<Value = String> {
    let algorithms = vec![
        "token_bucket",
        "leaky_bucket",
        "queue",
        "fixed_window",
        "sliding_window",
        "sliding_log",
    ];
    let more = vec![
        "",
        "",
        "",
        ", soft: { grace: 3/min }",
        ", headers: false",
        ", mode: shadow",
        ", cooldown: { after: 2, within: 1m, block: 10s }",
        ", message: No.",
    ];
    let picked = (quota(), prop::sample::select(algorithms), prop::sample::select(more), 0..4_u8);
    picked.prop_filter_map("no such limit", move |(quota, algorithm, more, shape)| {
        let limit = match shape {
            0 => "{ concurrent: 3 }".to_owned(),
            1 => format!("[{quota}, 3/90s]"),
            _ => quota,
        };
        let more =
            if more.contains("soft") && (shape == 0 || algorithm == "queue") { "" } else { more };
        let counted = if shape == 0 { String::new() } else { format!(", algorithm: {algorithm}") };
        let rule = format!("  - {{ name: r{index}, key: ip, limit: {limit}{counted}{more} }}\n");
        sluicegate_rules::RuleSet::parse(&format!("rules:\n{rule}")).is_ok().then_some(rule)
    })
}

/// One step of a random caller.
#[derive(Debug, Clone)]
enum Step {
    Ask(u64),
    Wait(Duration),
    Fail,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop_oneof![8 => Just(1_u64), 1 => 0..5_u64, 1 => 1..3_000_u64].prop_map(Step::Ask),
        2 => (0..200_000_000_u64).prop_map(|micros| Step::Wait(Duration::from_micros(micros))),
        1 => Just(Step::Fail),
    ]
}

fn check_headers(response: &Response) {
    let (policies, standing) = (response.list("ratelimit-policy"), response.list("ratelimit"));
    assert_eq!(response.names("ratelimit-policy"), response.names("ratelimit"));
    let names: BTreeSet<String> = response.names("ratelimit").into_iter().collect();
    assert_eq!(names.len(), standing.len(), "names are unique: {response:?}");
    let retry = response.number("retry-after");
    for (policy, item) in policies.iter().zip(&standing) {
        let (quota, remaining) = (policy.number("q").unwrap(), item.number("r").unwrap());
        assert!((0..=quota).contains(&remaining), "{response:?}");
        assert!(policy.number("w").is_none_or(|window| window >= 1), "{response:?}");
        assert_eq!(
            policy.number("w").is_none(),
            policy.unit.as_deref() == Some("concurrent-requests")
        );
        assert!(item.unit.is_none() && policy.number("t").is_none() && item.number("q").is_none());
        if let (Some(until), Some(retry)) = (item.number("t"), retry) {
            assert!(
                i64::try_from(retry).unwrap() >= until,
                "retry-after is before the next unit: {response:?}"
            );
        }
    }
    if let Some(remaining) = response.number("x-ratelimit-remaining") {
        assert_eq!(Some(i64::try_from(remaining).unwrap()), standing[0].number("r"));
    }
    assert_eq!(response.get("cache-control").is_some(), !response.allowed);
    assert!(retry.is_none() || !response.allowed);
    assert_eq!(response.problem.is_null(), response.allowed);
    if !response.allowed {
        assert!(
            !response.problem["violated-policies"].as_array().unwrap().is_empty(),
            "{response:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn retry_after_is_never_before_the_next_unit(
        rules in (rule(0), rule(1), rule(2)),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let limiter = TestLimiter::new(&format!("rules:\n{}{}{}", rules.0, rules.1, rules.2));
        for step in steps {
            match step {
                Step::Ask(cost) => check_headers(&limiter.request_with(cost, [])),
                Step::Wait(time) => limiter.clock.advance(time),
                Step::Fail => limiter.fail(),
            }
        }
    }

    #[test]
    fn more_units_are_left_at_the_reported_time(quota in quota(), steps in prop::collection::vec(step(), 1..20)) {
        let limiter = TestLimiter::new(&format!("rules: [{{ name: api, key: ip, limit: {quota} }}]"));
        for step in steps {
            match step {
                Step::Ask(cost) => _ = limiter.request_with(cost, []),
                Step::Wait(time) => limiter.clock.advance(time),
                Step::Fail => {}
            }
        }
        let standing = |response: &Response| {
            let item = response.list("ratelimit").remove(0);
            (item.number("r").unwrap(), item.number("t"))
        };
        let (before, until) = standing(&limiter.request_with(0, []));
        if let Some(until) = until {
            limiter.wait(until.unsigned_abs().saturating_sub(1));
            let (earlier, _) = standing(&limiter.request_with(0, []));
            prop_assert!(until == 1 || earlier == before, "a second before, nothing has changed");
            limiter.wait(1);
            prop_assert!(standing(&limiter.request_with(0, [])).0 > before);
        }
    }
}
