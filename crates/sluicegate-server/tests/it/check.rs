//! Tests of `/v1/check`: verdict, status and headers.

use serde_json::{Value, json};

use super::raw_client::{Client, Reply};
use super::test_server::TestServer;

const RULES: &str = r#"
identify:
  ip: { trusted_proxies: [10.0.0.0/8] }
  user: { header: x-user-id }
  api_key: { header: x-api-key, secret: true, if_missing: "401" }
rules:
  - { name: per-user, key: user, limit: 5/min }
  - { name: per-address, match: { path: "/public/**" }, key: ip, limit: 3/min }
  - { name: keyed, match: { path: "/keyed/**" }, key: api_key, limit: 9/min }
"#;

async fn ask(client: &mut Client, body: &Value) -> Reply {
    client.post("/v1/check", body.to_string()).await
}

#[tokio::test]
async fn identities_come_from_headers_in_any_case_and_from_the_peer() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    for (place, body) in [
        json!({"headers": {"X-User-ID": "7"}}),
        json!({"headers": {"x-user-id": ["7"]}}),
        json!({"attributes": {"user": 7}}),
        json!({"attributes": {"user": "7"}, "headers": {"x-user-id": "8"}}),
    ]
    .iter()
    .enumerate()
    {
        let verdict = ask(&mut client, body).await.json();
        assert_eq!(verdict["remaining"], 4 - place, "{body}");
    }
    let public = |peer: &str, forwarded: Value| {
        json!({"attributes": {"path": "/public/a", "user": forwarded.to_string()},
               "headers": {"x-forwarded-for": forwarded}, "peer": peer})
    };
    // Forwarding headers count only if a trusted proxy has sent them.
    for (left, body) in [
        (2, public("10.0.0.1", json!("203.0.113.9"))),
        (1, public("10.0.0.2", json!(["203.0.113.9", "10.9.9.9"]))),
        (0, public("203.0.113.9", json!("192.0.2.1"))),
    ] {
        let verdict = ask(&mut client, &body).await.json();
        assert_eq!(
            (&verdict["rule"], &verdict["remaining"]),
            (&json!("per-address"), &json!(left))
        );
    }
}

#[tokio::test]
async fn a_request_without_a_required_identity_gets_a_401() {
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    let nameless = json!({"attributes": {"path": "/keyed/a"}});
    let reply = ask(&mut client, &nameless).await;
    assert_eq!(reply.status, 401);
    assert_eq!(reply.header("www-authenticate"), Some("Sluicegate identity=\"api_key\""));
    assert_eq!(reply.header("ratelimit"), None);
    assert_eq!(
        reply.json(),
        json!({"type": "about:blank", "title": "Unauthorized", "status": 401,
               "detail": "the rule `keyed` needs the identity `api_key`, and the request does not have it",
               "allowed": false, "rule": "keyed", "reason": "unidentified", "identity": "api_key",
               "limit": null, "remaining": null, "cost": 0, "retry_after_ms": null,
               "reset_after_ms": null, "delay_ms": 0, "decisions": []})
    );
    let named = json!({"attributes": {"path": "/keyed/a"}, "headers": {"x-api-key": "secret"}});
    let reply = ask(&mut client, &named).await;
    assert_eq!(reply.status, 200);
    assert!(!reply.text().contains("secret"));
    let elsewhere = client.post("/v1/check?deny_status=403", nameless.to_string()).await;
    assert_eq!(elsewhere.status, 403);
}

#[tokio::test]
async fn deny_status_sets_the_status_of_refusals() {
    let (gate, _) = TestServer::by("rules: [{ name: all, key: [], limit: 1/min }]").await;
    let mut client = gate.client().await;
    assert_eq!(client.post("/v1/check?deny_status=503", "{}").await.status, 200);
    for status in [200, 204, 403, 503] {
        let refused = client.post(&format!("/v1/check?deny_status={status}"), "{}").await;
        assert_eq!((refused.status, refused.header("retry-after")), (status, Some("60")));
    }
    let invalid = client.post("/v1/check?deny=503", r#"{"cost":-1}"#).await.problem();
    let fields: Vec<_> = invalid["errors"].as_array().unwrap().clone();
    let fields: Vec<_> = fields.iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["deny", "cost"]);
}

#[tokio::test]
async fn a_blocked_caller_cannot_pass_by_repeating_its_header() {
    const RULES: &str = "
        identify: { user: { header: x-user-id } }
        rules: [{ name: all, key: user, limit: 100/min }]
        block: [{ user: mallory }]
    ";
    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.client().await;
    for headers in [
        json!({"x-user-id": "mallory"}),
        json!({"x-user-id": ["bob", "mallory"]}),
        json!({"x-user-id": "mallory,bob"}),
    ] {
        let reply = client.post("/v1/check", json!({"headers": headers}).to_string()).await;
        assert_eq!(reply.status, 403, "{headers}");
    }
}
