//! Tests of the rate-limit headers over HTTP, with the settings of rule files.

use serde_json::{Value, json};
use sfv::{List, Parser};
use sluicegate::ManualClock;
use sluicegate_server::Server;

use super::flaky_store::FlakyStore;
use super::raw_client::Reply;
use super::test_server::{TestServer, by_rules, parsed};

const BODY: &str = r#"{"attributes":{"user":"42","path":"/"}}"#;

/// Returns the lengths of both lists, if they are present.
fn lists(reply: &Reply) -> Option<(usize, usize)> {
    let length = |name: &str| {
        let list: List = Parser::new(reply.header(name)?).parse().unwrap();
        Some(list.len())
    };
    Some((length("ratelimit-policy")?, length("ratelimit")?))
}

#[tokio::test]
async fn a_refusal_is_a_problem_with_a_verdict() {
    let (gate, _) = TestServer::by(
        "
identify: { tier: { attribute: plan, default: free } }
tiers: { free: { api: [2/min, 100/day] } }
headers: { upgrade_url: 'https://example.com/plans', upgrade_message: Have more. }
rules:
  - { name: api, key: user, limit: { tier: api } }
",
    )
    .await;
    let mut client = gate.client().await;
    for _ in 0..2 {
        let reply = client.post("/v1/check", BODY).await;
        assert_eq!((reply.status, lists(&reply)), (200, Some((2, 2))));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("x-ratelimit-tier"), Some("free"));
        assert_eq!(reply.header("x-ratelimit-upgrade-url"), None);
        assert_eq!(reply.json().get("type"), None);
    }
    for (path, status) in [("/v1/check", 429), ("/v1/check?deny_status=403", 403)] {
        let reply = client.post(path, BODY).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("retry-after"), Some("30"));
        assert_eq!(reply.header("x-ratelimit-upgrade-url"), Some("https://example.com/plans"));
        let mut body = reply.json();
        assert_eq!(body["decisions"].as_array().unwrap().len(), 2);
        body.as_object_mut().unwrap().remove("decisions");
        assert_eq!(
            body,
            json!({
                "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
                "title": "Quota exceeded", "status": status,
                "detail": "the limit `api/minute` (2 in 1min) is used up; come back in 30 seconds",
                "violated-policies": ["api/minute"], "tier": "free",
                "upgrade": {"url": "https://example.com/plans", "message": "Have more."},
                "allowed": false, "rule": "api", "reason": "exhausted", "limit": 2,
                "remaining": 0, "cost": 1, "retry_after_ms": 30_000, "reset_after_ms": 60_000,
                "delay_ms": 0
            })
        );
    }
}

#[tokio::test]
async fn header_settings_apply_to_throttles_and_change_with_the_rules() {
    let settings = |names: &str| format!("headers: {{ names: {names}, reset: epoch }}\nrules: []");
    let (gate, limiter) = TestServer::by(&settings("x-rate-limit")).await;
    let mut client = gate.client().await;
    let body = r#"{"key":"a","quota":"6/min","cost":2}"#;
    let reply = client.throttle(body).await;
    assert_eq!(reply.header("x-rate-limit-limit"), Some("6"));
    assert_eq!(reply.header("x-rate-limit-reset"), Some("1767225620"));
    assert_eq!(reply.header("x-rate-limit-cost"), Some("2"));
    assert_eq!(reply.header("ratelimit"), Some("\"throttle\";r=4;t=10"));
    limiter.replace(parsed(&settings("ratelimit-legacy")));
    let reply = client.throttle(body).await;
    assert_eq!(reply.header("ratelimit-limit"), Some("6"));
    assert_eq!(reply.header("ratelimit-remaining"), Some("2"));
    assert_eq!(reply.header("ratelimit-reset"), Some("1767225640"));
    assert_eq!(reply.header("x-rate-limit-limit"), None);
    limiter.replace(parsed("headers: { names: off, ietf: false }\nrules: []"));
    client.throttle(body).await;
    let refused = client.throttle(body).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("20")));
    assert_eq!((lists(&refused), refused.header("x-ratelimit-limit")), (None, None));
}

#[tokio::test]
async fn while_the_store_is_down_unknown_limits_are_not_reported() {
    const RULES: &str = "
rules:
  - { name: share, key: user, limit: 5/min }
  - { name: open, key: user, limit: [3/min, 9/day], on_store_error: allow }
  - { name: closed, key: user, limit: 4/min, on_store_error: deny, match: { path: /closed } }
";
    let clock = ManualClock::default();
    let (store, control) = FlakyStore::new(clock.clone());
    let gate = TestServer::open_with(Server::new(by_rules(store, RULES)), clock).await;
    let mut client = gate.client().await;
    assert_eq!(lists(&client.post("/v1/check", BODY).await), Some((3, 3)));
    control.fail("connection refused");
    let reply = client.post("/v1/check", BODY).await;
    assert_eq!((reply.status, lists(&reply)), (200, Some((1, 1))));
    assert!(reply.header("ratelimit").unwrap().starts_with("\"share\";r=3"));
    assert_eq!(reply.header("x-ratelimit-remaining"), Some("3"));

    let closed = json!({"attributes": {"user": "42", "path": "/closed"}}).to_string();
    let reply = client.post("/v1/check", closed).await;
    assert_eq!((reply.status, reply.header("x-ratelimit-remaining")), (503, None));
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(lists(&reply), Some((1, 1)), "the share is known");
    let problem = reply.json();
    assert_eq!(problem["violated-policies"], json!(["closed"]));
    assert_eq!(
        (&problem["title"], &problem["remaining"]),
        (&json!("Temporary reduced capacity"), &Value::Null)
    );
}
