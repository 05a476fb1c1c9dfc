//! Tests of refusals as problem documents.

use serde_json::{Value, json};

use super::TestLimiter;

const REGISTRY: &str = "https://iana.org/assignments/http-problem-types#";

#[test]
fn a_problem_names_the_violated_limits_and_the_wait() {
    let limiter = TestLimiter::new(
        "rules: [{ name: api, key: ip, limit: 1/min }, { name: other, key: ip, limit: 1/day }]",
    );
    assert_eq!(limiter.request().problem, Value::Null);
    let problem = limiter.request().problem;
    assert_eq!(
        problem,
        json!({"type": format!("{REGISTRY}quota-exceeded"), "title": "Quota exceeded", "status": 429,
               "detail": "the limit `other` (1 in 1day) is used up; come back in 24 hours",
               "violated-policies": ["api", "other"]})
    );
}

#[test]
fn each_reason_has_its_own_type_and_sentence() {
    const BLOCK: &str = "cooldown: { after: 1, within: 10m, block: 15m }";
    for (rule, cost, kind, detail) in [
        (
            "limit: 6/min",
            6,
            "quota-exceeded",
            "the limit `api` (6 in 1min) is used up; come back in 60 seconds",
        ),
        (
            "limit: 6/min",
            5,
            "quota-exceeded",
            "the limit `api` (6 in 1min) is used up; come back in 40 seconds",
        ),
        (
            "limit: 6/min",
            7,
            "quota-exceeded",
            "the request costs 7, and the limit `api` never has more than 6; ask for less",
        ),
        (
            "limit: { concurrent: 1 }",
            1,
            "quota-exceeded",
            "all 1 slots of `api` are in use; come back when one of the requests in flight has ended",
        ),
        (
            BLOCK,
            1,
            "abnormal-usage-detected",
            "`api` blocks after too many failures; come back in 15 minutes",
        ),
    ] {
        let limiter = TestLimiter::new(&format!("rules: [{{ name: api, key: ip, {rule} }}]"));
        limiter.request_with(cost, []);
        if rule == BLOCK {
            limiter.fail();
        }
        let problem = limiter.request_with(cost, []).problem;
        assert_eq!(problem["type"], format!("{REGISTRY}{kind}"), "{rule}");
        assert_eq!(problem["detail"], detail, "{rule}");
        assert_eq!(
            (&problem["status"], &problem["violated-policies"]),
            (&json!(429), &json!(["api"]))
        );
    }
}

#[test]
fn the_message_of_a_rule_replaces_the_sentence() {
    let limiter = TestLimiter::new(
        "rules: [{ name: api, key: ip, limit: 1/min, message: 'Slow down, please: see \"fair use\".' }]",
    );
    limiter.request();
    let problem = limiter.request().problem;
    assert_eq!(problem["detail"], "Slow down, please: see \"fair use\".");
    assert_eq!(problem["violated-policies"], json!(["api"]));
}

#[test]
fn only_quota_refusals_have_an_upgrade() {
    let limiter = TestLimiter::new(
        "headers: { upgrade_url: 'https://example.com/plans', upgrade_message: Have more. }
rules:
  - { name: api, key: ip, limit: 1/min, cooldown: { after: 1, within: 10m, block: 15m } }
",
    );
    assert_eq!(limiter.request().get("x-ratelimit-upgrade-url"), None);
    let refused = limiter.request();
    assert_eq!(refused.get("x-ratelimit-upgrade-url"), Some("https://example.com/plans"));
    let upgrade = json!({"url": "https://example.com/plans", "message": "Have more."});
    assert_eq!(refused.problem["upgrade"], upgrade);
    limiter.fail();
    let blocked = limiter.request();
    assert_eq!(
        blocked.get("x-ratelimit-upgrade-url"),
        None,
        "a higher quota does not lift a block"
    );
    assert_eq!(blocked.problem.get("upgrade"), None);
}
