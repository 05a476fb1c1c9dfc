//! Refusals as problems.

use serde_json::{Value, json};

use super::Stage;

const REGISTRY: &str = "https://iana.org/assignments/http-problem-types#";

#[test]
fn a_problem_says_which_limits_refuse_and_when_to_come_back() {
    let stage = Stage::new(
        "rules: [{ name: api, key: ip, limit: 1/min }, { name: other, key: ip, limit: 1/day }]",
    );
    assert_eq!(stage.ask().problem, Value::Null);
    let problem = stage.ask().problem;
    assert_eq!(
        problem,
        json!({"type": format!("{REGISTRY}quota-exceeded"), "title": "Quota exceeded", "status": 429,
               "detail": "the limit `other` (1 in 1day) is used up; come back in 24 hours",
               "violated-policies": ["api", "other"]})
    );
}

#[test]
fn each_reason_has_its_type_and_its_sentence() {
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
        let stage = Stage::new(&format!("rules: [{{ name: api, key: ip, {rule} }}]"));
        stage.ask_with(cost, []);
        if rule == BLOCK {
            stage.fail();
        }
        let problem = stage.ask_with(cost, []).problem;
        assert_eq!(problem["type"], format!("{REGISTRY}{kind}"), "{rule}");
        assert_eq!(problem["detail"], detail, "{rule}");
        assert_eq!(
            (&problem["status"], &problem["violated-policies"]),
            (&json!(429), &json!(["api"]))
        );
    }
}

#[test]
fn a_rule_may_say_it_in_words_of_its_own() {
    let stage = Stage::new(
        "rules: [{ name: api, key: ip, limit: 1/min, message: 'Slow down, please: see \"fair use\".' }]",
    );
    stage.ask();
    let problem = stage.ask().problem;
    assert_eq!(problem["detail"], "Slow down, please: see \"fair use\".");
    assert_eq!(problem["violated-policies"], json!(["api"]));
}

#[test]
fn where_more_is_to_be_had_is_told_to_those_whom_it_helps() {
    let stage = Stage::new(
        "headers: { upgrade_url: 'https://example.com/plans', upgrade_message: Have more. }
rules:
  - { name: api, key: ip, limit: 1/min, cooldown: { after: 1, within: 10m, block: 15m } }
",
    );
    assert_eq!(stage.ask().get("x-ratelimit-upgrade-url"), None);
    let refused = stage.ask();
    assert_eq!(refused.get("x-ratelimit-upgrade-url"), Some("https://example.com/plans"));
    let upgrade = json!({"url": "https://example.com/plans", "message": "Have more."});
    assert_eq!(refused.problem["upgrade"], upgrade);
    stage.fail();
    let blocked = stage.ask();
    assert_eq!(blocked.get("x-ratelimit-upgrade-url"), None, "it would be blocked there as well");
    assert_eq!(blocked.problem.get("upgrade"), None);
}
