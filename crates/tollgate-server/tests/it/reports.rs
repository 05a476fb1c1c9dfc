//! Failures that are reported, and the blocks they come to.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Reply};
use super::gate::Gate;

const RULES: &str = "
rules:
  - name: login
    match: { method: POST, path: /login }
    key: [ip, user]
    cooldown: { after: 3, within: 10m, block: 15m, on_status: [401, 403] }
  - name: watched
    match: { path: /login }
    key: ip
    mode: shadow
    cooldown: { after: 1, within: 10m, block: 1h, on_status: [401] }
";

fn login(user: &str) -> Value {
    json!({"attributes": {"ip": "203.0.113.9", "user": user, "method": "POST", "path": "/login"}})
}

async fn report(client: &mut Client, user: &str, how: &Value) -> Value {
    let mut body = login(user);
    body.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
    let reply = client.post("/v1/report", body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

async fn check(client: &mut Client, user: &str) -> Reply {
    client.post("/v1/check", login(user).to_string()).await
}

#[tokio::test]
async fn too_many_failures_block_until_exactly_when_it_was_told() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let failed = json!({"status": 401});
    for left in [2, 1] {
        let told = report(&mut client, "ada", &failed).await;
        assert_eq!(
            (&told["counted"], &told["blocked"]),
            (&json!(if left == 2 { 2 } else { 1 }), &json!(false)),
            "{told}"
        );
        assert_eq!(told["retry_after_ms"], Value::Null);
        assert_eq!(told["decisions"][0]["rule"], "login");
        assert_eq!(told["decisions"][0]["remaining"], left);
        assert_eq!(check(&mut client, "ada").await.status, 200);
    }
    let told = report(&mut client, "ada", &failed).await;
    assert_eq!((&told["blocked"], &told["retry_after_ms"]), (&json!(true), &json!(900_000)));
    let refused = check(&mut client, "ada").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("900")));
    let verdict = refused.json();
    assert_eq!((&verdict["rule"], &verdict["reason"]), (&json!("login"), &json!("blocked")));
    assert_eq!(check(&mut client, "bob").await.status, 200, "the shadow blocks nobody");
    gate.clock.advance(Duration::from_micros(899_999_999));
    assert_eq!(check(&mut client, "ada").await.status, 429);
    gate.clock.advance(Duration::from_micros(1));
    assert_eq!(check(&mut client, "ada").await.status, 200);
}

#[tokio::test]
async fn what_no_rule_counts_is_not_counted() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let nothing = json!({
        "counted": 0, "settled": 0, "blocked": false, "retry_after_ms": null, "decisions": []
    });
    for _ in 0..5 {
        assert_eq!(report(&mut client, "ada", &json!({"status": 200})).await, nothing);
        assert_eq!(report(&mut client, "ada", &json!({"status": 500})).await, nothing);
        assert_eq!(report(&mut client, "ada", &json!({"failed": false})).await, nothing);
        let elsewhere = r#"{"attributes":{"path":"/search"},"status":401}"#;
        assert_eq!(client.post("/v1/report", elsewhere).await.json(), nothing);
    }
    // A status that one rule counts is counted by that rule alone.
    assert_eq!(report(&mut client, "ada", &json!({"status": 403})).await["counted"], 1);
    assert_eq!(check(&mut client, "ada").await.status, 200);
}

#[tokio::test]
async fn several_failures_can_be_told_at_once() {
    let (gate, _) = Gate::by(RULES).await;
    let mut client = gate.client().await;
    let told = report(&mut client, "ada", &json!({"failed": true, "failures": 2})).await;
    assert_eq!((&told["counted"], &told["blocked"]), (&json!(2), &json!(false)));
    let told = report(&mut client, "ada", &json!({"failed": true})).await;
    assert_eq!(told["blocked"], true);
    // Who is blocked already is not blocked for longer.
    let told = report(&mut client, "ada", &json!({"failed": true, "failures": 99})).await;
    assert_eq!((&told["counted"], &told["retry_after_ms"]), (&json!(0), &json!(900_000)));
    let told = report(&mut client, "eve", &json!({"status": 401, "failures": 3})).await;
    assert_eq!((&told["counted"], &told["blocked"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn a_report_settles_the_oldest_attempt() {
    let rules = "
rules:
  - name: login
    key: [ip, user]
    cooldown: { after: 2, within: 10m, block: 15m, pending: 10s, reset_on_success: true }
";
    let (gate, _) = Gate::by(rules).await;
    let mut client = gate.client().await;
    assert_eq!(check(&mut client, "ada").await.status, 200);
    gate.clock.advance(Duration::from_secs(4));
    assert_eq!(check(&mut client, "ada").await.status, 200);
    let refused = check(&mut client, "ada").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("6")));
    assert_eq!(refused.json()["reason"], "exhausted");
    let told = report(&mut client, "ada", &json!({"status": 401})).await;
    assert_eq!((&told["counted"], &told["settled"]), (&json!(1), &json!(0)));
    assert_eq!(told["decisions"][0]["remaining"], 0, "a failure took the attempt's place");
    for (how, settled, remaining) in
        [(json!({"failed": false}), 1, 2), (json!({"status": 200}), 0, 2)]
    {
        let told = report(&mut client, "ada", &how).await;
        assert_eq!((&told["counted"], &told["settled"]), (&json!(0), &json!(settled)), "{how}");
        assert_eq!(told["decisions"][0]["remaining"], remaining, "{told}");
    }
}
