//! Tests of the reported state of every limit: remaining units, reset, retry.

use std::time::Duration;

use sluicegate::{Check, Limit, Limiter, Plan, Time};
use sluicegate_rules::{AttributeValue, HeaderSettings, Request};

use super::TestLimiter;
use crate::RateLimitInfo;

#[test]
fn all_applied_limits_are_reported_strictest_first() {
    let limiter = TestLimiter::new(
        "rules:
  - { name: wide, key: ip, limit: [100/min, 1000/day] }
  - { name: narrow, key: ip, limit: 4/min }
  - { name: watched, key: ip, limit: 1/min, mode: shadow }
  - { name: reports, key: ip, limit: { concurrent: 3 } }
",
    );
    let response = limiter.request();
    assert_eq!(
        response.get("ratelimit-policy"),
        Some(
            "\"reports\";q=3;qu=\"concurrent-requests\", \"narrow\";q=4;w=60, \
             \"wide/minute\";q=100;w=60, \"wide/day\";q=1000;w=86400"
        )
    );
    // The time at which a slot becomes free is unknown; a bucket has a unit before it is full.
    assert_eq!(
        response.get("ratelimit"),
        Some(
            "\"reports\";r=2, \"narrow\";r=3;t=15, \"wide/minute\";r=99;t=1, \
             \"wide/day\";r=999;t=87"
        )
    );
    assert_eq!(response.number("x-ratelimit-limit"), Some(3));
    assert_eq!(response.number("x-ratelimit-remaining"), Some(2));
}

#[test]
fn a_bucket_reports_the_time_of_its_next_unit() {
    let limiter = TestLimiter::new("rules: [{ name: api, key: ip, limit: 6/min }]");
    for remaining in (0..6).rev() {
        let response = limiter.request();
        assert_eq!(response.get("ratelimit"), Some(&*format!("\"api\";r={remaining};t=10")));
    }
    limiter.clock.advance(Duration::from_millis(6_500));
    let refused = limiter.request();
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=0;t=4"));
    assert_eq!(
        (refused.number("retry-after"), refused.number("x-ratelimit-reset")),
        (Some(4), Some(54))
    );
    // More than one unit takes longer than the next unit.
    let refused = limiter.request_with(3, []);
    assert_eq!(
        (refused.get("ratelimit"), refused.number("retry-after")),
        (Some("\"api\";r=0;t=4"), Some(24))
    );
    limiter.wait(4);
    assert!(limiter.request().allowed);
}

#[test]
fn no_reported_time_is_later_than_retry_after() {
    let limiter = TestLimiter::new(
        "rules:
  - { name: daily, key: ip, limit: 100/day, algorithm: fixed_window }
  - { name: api, key: ip, limit: 1/min }
",
    );
    let response = limiter.request();
    assert_eq!(response.list("ratelimit")[1].number("t"), Some(86_400));
    let refused = limiter.request();
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=0;t=60, \"daily\";r=99"));
    assert_eq!(refused.number("retry-after"), Some(60));
}

#[test]
fn a_cost_above_the_limit_has_no_retry_after() {
    let limiter = TestLimiter::new("rules: [{ name: api, key: ip, limit: 6/min }]");
    let refused = limiter.request_with(7, []);
    assert_eq!((refused.allowed, refused.get("retry-after")), (false, None));
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=6"));
    assert_eq!(refused.number("x-ratelimit-cost"), Some(7));
}

#[test]
fn a_refusal_for_lack_of_slots_has_no_retry_after() {
    let limiter = TestLimiter::new("rules: [{ name: reports, key: ip, limit: { concurrent: 1 } }]");
    limiter.request();
    let refused = limiter.request();
    assert_eq!((refused.allowed, refused.get("retry-after")), (false, None));
    assert_eq!(refused.get("ratelimit"), Some("\"reports\";r=0"));
    assert_eq!(refused.get("cache-control"), Some("no-store"));
}

#[test]
fn cooldowns_are_reported_only_while_they_block() {
    let limiter = TestLimiter::new(
        "rules: [{ name: login, key: ip, limit: 100/min, \
                   cooldown: { after: 2, within: 10m, block: 15m } }]",
    );
    limiter.fail();
    let response = limiter.request();
    assert_eq!(response.names("ratelimit"), ["login"], "attempts that are left are not reported");
    assert_eq!(response.number("x-ratelimit-limit"), Some(100));
    limiter.fail();
    let refused = limiter.request();
    assert_eq!(
        refused.get("ratelimit-policy"),
        Some("\"login/cooldown\";q=2;w=600;qu=\"sluicegate-failures\", \"login\";q=100;w=60")
    );
    assert_eq!(refused.get("ratelimit"), Some("\"login/cooldown\";r=0;t=900, \"login\";r=99;t=1"));
    assert_eq!(refused.number("retry-after"), Some(900));
}

#[test]
fn a_soft_limit_is_reported_once_its_limit_is_used_up() {
    let limiter = TestLimiter::new(
        "rules: [{ name: api, key: ip, limit: 2/day, algorithm: fixed_window, \
                   soft: { grace: 1/min } }]",
    );
    limiter.request();
    assert_eq!(limiter.request().names("ratelimit"), ["api"]);
    let soft = limiter.request();
    assert_eq!(
        (soft.allowed, soft.names("ratelimit")),
        (true, vec!["api/soft".into(), "api".into()])
    );
    let refused = limiter.request();
    assert_eq!(refused.get("retry-after"), Some("60"), "the earliest of the alternatives");
    assert_eq!(refused.get("ratelimit"), Some("\"api/soft\";r=0;t=60, \"api\";r=0"));
    assert_eq!(refused.problem["violated-policies"], serde_json::json!(["api", "api/soft"]));
}

#[test]
fn hidden_rules_are_in_no_header() {
    let limiter = TestLimiter::new(
        "rules:
  - { name: secret, key: ip, limit: 2/min, headers: false }
  - { name: open, key: ip, limit: 9/min }
",
    );
    let response = limiter.request();
    assert_eq!(response.get("ratelimit-policy"), Some("\"open\";q=9;w=60"));
    assert_eq!(
        (response.names("ratelimit"), response.number("x-ratelimit-remaining")),
        (vec!["open".into()], Some(8))
    );
    limiter.request();
    let refused = limiter.request();
    assert!(!refused.allowed);
    assert_eq!(refused.names("ratelimit"), ["open"]);
    assert_eq!(
        refused.get("x-ratelimit-remaining"),
        None,
        "the limit with 7 units left did not refuse"
    );
    assert_eq!(refused.number("retry-after"), Some(30));
    assert_eq!(refused.problem["violated-policies"], serde_json::json!(["secret"]));
    assert!(!refused.headers.iter().any(|(_, value)| value.contains("secret")), "{refused:?}");

    let limiter =
        TestLimiter::new("rules: [{ name: secret, key: ip, limit: 2/min, headers: false }]");
    assert_eq!(limiter.request().headers, []);
}

#[test]
fn a_request_without_limits_has_no_headers() {
    assert_eq!(TestLimiter::new("rules: []").request().headers, []);
    let shadow =
        TestLimiter::new("rules: [{ name: watched, key: ip, limit: 1/min, mode: shadow }]");
    assert_eq!((shadow.request().headers, shadow.request().headers), (vec![], vec![]));
}

#[test]
fn a_cost_is_reported_unless_it_is_one() {
    let limiter = TestLimiter::new("rules: [{ name: api, key: ip, limit: 9/min }]");
    for (cost, expected) in [(0, Some("0")), (1, None), (5, Some("5"))] {
        assert_eq!(limiter.request_with(cost, []).get("x-ratelimit-cost"), expected);
    }
}

#[test]
fn a_tier_is_reported_for_admissions_and_refusals() {
    let limiter = TestLimiter::new(
        "identify: { tier: { attribute: plan, default: free } }
tiers: { free: { api: 1/min }, gold: { api: 2/min } }
rules: [{ name: api, key: [], limit: { tier: api } }]
",
    );
    let request = |tier| limiter.request_with(1, [("plan", AttributeValue::Text(tier))]);
    assert_eq!(request("gold").get("x-ratelimit-tier"), Some("gold"));
    assert_eq!(request("gold").get("x-ratelimit-tier"), Some("gold"));
    let refused = request("free");
    assert_eq!((refused.allowed, refused.get("x-ratelimit-tier")), (false, Some("free")));
    assert_eq!(refused.problem["tier"], "free");
}

#[test]
fn unidentified_and_blocked_callers_get_401_and_403() {
    let limiter = TestLimiter::new(
        "identify: { key: { header: x-api-key, if_missing: '401' } }
rules: [{ name: api, key: key, limit: 9/min }]
block: [{ ip: 198.51.100.7 }]
",
    );
    let nameless = limiter.request();
    assert_eq!(nameless.get("www-authenticate"), Some("Sluicegate identity=\"key\""));
    assert_eq!(nameless.get("cache-control"), Some("no-store"));
    assert_eq!((&nameless.problem["status"], nameless.headers.len()), (&401.into(), 2));
    let blocked = limiter.send(&Request::new().peer([198, 51, 100, 7].into()));
    assert_eq!(blocked.headers, [("cache-control", "no-store".to_owned())]);
    assert_eq!(blocked.problem["status"], 403);
}

#[test]
fn a_limit_checked_for_several_callers_is_reported_once() {
    let (wide, narrow) = ("9/min".parse().unwrap(), "5/min".parse().unwrap());
    let wide = Limit::token_bucket("wide", wide).unwrap();
    let narrow = Limit::token_bucket("narrow", narrow).unwrap();
    let (limiter, settings) = (Limiter::in_memory(), HeaderSettings::DEFAULT);
    let mut plan = Plan::new();
    for (limit, key) in [(&wide, "a"), (&narrow, "a"), (&wide, "b"), (&narrow, "b")] {
        plan.require(Check::new(limit, key));
    }
    let mut first = Plan::new();
    first.require(Check::new(&narrow, "b"));
    limiter.check_plan(&first).now().unwrap();
    let verdict = limiter.check_plan(&plan).now().unwrap();
    let info = RateLimitInfo::named("both", plan.checks(), &verdict, 1, &settings);
    let mut remaining = Vec::new();
    info.for_each_header(Time::EPOCH, &mut String::new(), |header, value| {
        if header.as_str() == "ratelimit" {
            remaining.push(value.to_owned());
        }
    });
    assert_eq!(remaining, ["\"both\";r=3;t=12, \"both\";r=8;t=7"]);
}
