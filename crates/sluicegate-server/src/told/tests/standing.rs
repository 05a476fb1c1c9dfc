//! How a caller stands with every limit.

use std::time::Duration;

use sluicegate::{Check, Limit, Limiter, Plan, Time};
use sluicegate_rules::{HeaderSettings, Request, Value};

use super::Stage;
use crate::told::Told;

#[test]
fn every_limit_that_was_met_is_told_the_strictest_first() {
    let stage = Stage::new(
        "rules:
  - { name: wide, key: ip, limit: [100/min, 1000/day] }
  - { name: narrow, key: ip, limit: 4/min }
  - { name: watched, key: ip, limit: 1/min, mode: shadow }
  - { name: reports, key: ip, limit: { concurrent: 3 } }
",
    );
    let heard = stage.ask();
    assert_eq!(
        heard.get("ratelimit-policy"),
        Some(
            "\"reports\";q=3;qu=\"concurrent-requests\", \"narrow\";q=4;w=60, \
             \"wide/minute\";q=100;w=60, \"wide/day\";q=1000;w=86400"
        )
    );
    // A slot comes back nobody knows when; a bucket has its next unit before it is full.
    assert_eq!(
        heard.get("ratelimit"),
        Some(
            "\"reports\";r=2, \"narrow\";r=3;t=15, \"wide/minute\";r=99;t=1, \
             \"wide/day\";r=999;t=87"
        )
    );
    assert_eq!(heard.number("x-ratelimit-limit"), Some(3));
    assert_eq!(heard.number("x-ratelimit-remaining"), Some(2));
}

#[test]
fn a_bucket_tells_when_its_next_unit_is_there() {
    let stage = Stage::new("rules: [{ name: api, key: ip, limit: 6/min }]");
    for remaining in (0..6).rev() {
        let heard = stage.ask();
        assert_eq!(heard.get("ratelimit"), Some(&*format!("\"api\";r={remaining};t=10")));
    }
    stage.clock.advance(Duration::from_millis(6_500));
    let refused = stage.ask();
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=0;t=4"));
    assert_eq!(
        (refused.number("retry-after"), refused.number("x-ratelimit-reset")),
        (Some(4), Some(54))
    );
    // For more than the next unit one has to come back later.
    let refused = stage.ask_with(3, []);
    assert_eq!(
        (refused.get("ratelimit"), refused.number("retry-after")),
        (Some("\"api\";r=0;t=4"), Some(24))
    );
    stage.wait(4);
    assert!(stage.ask().allowed);
}

#[test]
fn nothing_is_told_of_later_than_when_to_come_back() {
    let stage = Stage::new(
        "rules:
  - { name: daily, key: ip, limit: 100/day, algorithm: fixed_window }
  - { name: api, key: ip, limit: 1/min }
",
    );
    let heard = stage.ask();
    assert_eq!(heard.list("ratelimit")[1].number("t"), Some(86_400));
    let refused = stage.ask();
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=0;t=60, \"daily\";r=99"));
    assert_eq!(refused.number("retry-after"), Some(60));
}

#[test]
fn what_can_never_be_admitted_is_not_told_to_come_back() {
    let stage = Stage::new("rules: [{ name: api, key: ip, limit: 6/min }]");
    let refused = stage.ask_with(7, []);
    assert_eq!((refused.allowed, refused.get("retry-after")), (false, None));
    assert_eq!(refused.get("ratelimit"), Some("\"api\";r=6"));
    assert_eq!(refused.number("x-ratelimit-cost"), Some(7));
}

#[test]
fn who_finds_all_slots_taken_is_not_told_to_come_back_at_a_time() {
    let stage = Stage::new("rules: [{ name: reports, key: ip, limit: { concurrent: 1 } }]");
    stage.ask();
    let refused = stage.ask();
    assert_eq!((refused.allowed, refused.get("retry-after")), (false, None));
    assert_eq!(refused.get("ratelimit"), Some("\"reports\";r=0"));
    assert_eq!(refused.get("cache-control"), Some("no-store"));
}

#[test]
fn failures_are_told_only_while_they_block() {
    let stage = Stage::new(
        "rules: [{ name: login, key: ip, limit: 100/min, \
                   cooldown: { after: 2, within: 10m, block: 15m } }]",
    );
    stage.fail();
    let heard = stage.ask();
    assert_eq!(heard.names("ratelimit"), ["login"], "no hint how many guesses are left");
    assert_eq!(heard.number("x-ratelimit-limit"), Some(100));
    stage.fail();
    let refused = stage.ask();
    assert_eq!(
        refused.get("ratelimit-policy"),
        Some("\"login/cooldown\";q=2;w=600;qu=\"sluicegate-failures\", \"login\";q=100;w=60")
    );
    assert_eq!(refused.get("ratelimit"), Some("\"login/cooldown\";r=0;t=900, \"login\";r=99;t=1"));
    assert_eq!(refused.number("retry-after"), Some(900));
}

#[test]
fn what_is_beyond_a_limit_is_told_once_the_limit_is_used_up() {
    let stage = Stage::new(
        "rules: [{ name: api, key: ip, limit: 2/day, algorithm: fixed_window, \
                   soft: { grace: 1/min } }]",
    );
    stage.ask();
    assert_eq!(stage.ask().names("ratelimit"), ["api"]);
    let soft = stage.ask();
    assert_eq!(
        (soft.allowed, soft.names("ratelimit")),
        (true, vec!["api/soft".into(), "api".into()])
    );
    let refused = stage.ask();
    assert_eq!(refused.get("retry-after"), Some("60"), "the first way that opens");
    assert_eq!(refused.get("ratelimit"), Some("\"api/soft\";r=0;t=60, \"api\";r=0"));
    assert_eq!(refused.problem["violated-policies"], serde_json::json!(["api", "api/soft"]));
}

#[test]
fn a_rule_may_be_left_out_of_all_headers() {
    let stage = Stage::new(
        "rules:
  - { name: secret, key: ip, limit: 2/min, headers: false }
  - { name: open, key: ip, limit: 9/min }
",
    );
    let heard = stage.ask();
    assert_eq!(heard.get("ratelimit-policy"), Some("\"open\";q=9;w=60"));
    assert_eq!(
        (heard.names("ratelimit"), heard.number("x-ratelimit-remaining")),
        (vec!["open".into()], Some(8))
    );
    stage.ask();
    let refused = stage.ask();
    assert!(!refused.allowed);
    assert_eq!(refused.names("ratelimit"), ["open"]);
    assert_eq!(refused.get("x-ratelimit-remaining"), None, "7 are left of what did not refuse");
    assert_eq!(refused.number("retry-after"), Some(30));
    assert_eq!(refused.problem["violated-policies"], serde_json::json!(["secret"]));
    assert!(!refused.headers.iter().any(|(_, value)| value.contains("secret")), "{refused:?}");

    let stage = Stage::new("rules: [{ name: secret, key: ip, limit: 2/min, headers: false }]");
    assert_eq!(stage.ask().headers, []);
}

#[test]
fn a_request_that_meets_no_limit_is_told_nothing() {
    assert_eq!(Stage::new("rules: []").ask().headers, []);
    let shadow = Stage::new("rules: [{ name: watched, key: ip, limit: 1/min, mode: shadow }]");
    assert_eq!((shadow.ask().headers, shadow.ask().headers), (vec![], vec![]));
}

#[test]
fn a_cost_is_told_unless_it_is_one() {
    let stage = Stage::new("rules: [{ name: api, key: ip, limit: 9/min }]");
    for (cost, told) in [(0, Some("0")), (1, None), (5, Some("5"))] {
        assert_eq!(stage.ask_with(cost, []).get("x-ratelimit-cost"), told);
    }
}

#[test]
fn a_tier_is_told_whether_or_not_it_is_enough() {
    let stage = Stage::new(
        "identify: { tier: { attribute: plan, default: free } }
tiers: { free: { api: 1/min }, gold: { api: 2/min } }
rules: [{ name: api, key: [], limit: { tier: api } }]
",
    );
    let ask = |tier| stage.ask_with(1, [("plan", Value::Text(tier))]);
    assert_eq!(ask("gold").get("x-ratelimit-tier"), Some("gold"));
    assert_eq!(ask("gold").get("x-ratelimit-tier"), Some("gold"));
    let refused = ask("free");
    assert_eq!((refused.allowed, refused.get("x-ratelimit-tier")), (false, Some("free")));
    assert_eq!(refused.problem["tier"], "free");
}

#[test]
fn who_is_not_known_or_not_wanted_is_told_what_to_do() {
    let stage = Stage::new(
        "identify: { key: { header: x-api-key, if_missing: '401' } }
rules: [{ name: api, key: key, limit: 9/min }]
block: [{ ip: 198.51.100.7 }]
",
    );
    let nameless = stage.ask();
    assert_eq!(nameless.get("www-authenticate"), Some("Sluicegate identity=\"key\""));
    assert_eq!(nameless.get("cache-control"), Some("no-store"));
    assert_eq!((&nameless.problem["status"], nameless.headers.len()), (&401.into(), 2));
    let blocked = stage.hear(&Request::new().peer([198, 51, 100, 7].into()));
    assert_eq!(blocked.headers, [("cache-control", "no-store".to_owned())]);
    assert_eq!(blocked.problem["status"], 403);
}

#[test]
fn a_limit_that_is_asked_for_several_callers_is_told_once() {
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
    let told = Told::named("both", plan.checks(), &verdict, 1, &settings);
    let mut remaining = Vec::new();
    told.each(Time::EPOCH, &mut String::new(), |header, value| {
        if header.as_str() == "ratelimit" {
            remaining.push(value.to_owned());
        }
    });
    assert_eq!(remaining, ["\"both\";r=3;t=12, \"both\";r=8;t=7"]);
}
