//! Tests of batches: a list of requests, and a list of verdicts.

use serde_json::{Value, json};

use super::resp_client::{RespReply, command};
use super::test_server::TestServer;

const PATH: &str = "/v1/throttle/batch";
const ALGORITHMS: [&str; 6] =
    ["token_bucket", "leaky_bucket", "queue", "fixed_window", "sliding_window", "sliding_log"];

#[tokio::test]
async fn a_batch_of_throttles_equals_single_throttles() {
    let (together, alone) = (TestServer::open().await, TestServer::open().await);
    let (mut together, mut alone) = (together.client().await, alone.client().await);
    // All algorithms, repeated keys, and more requests than one prefetch covers.
    let requests: Vec<Value> = (0..180)
        .map(|number| {
            let algorithm = ALGORITHMS[number % ALGORITHMS.len()];
            let quota = if number % 4 == 0 { "7/min" } else { "3/min" };
            json!({"key": format!("user:{}", number % 5), "quota": quota, "algorithm": algorithm})
        })
        .collect();
    let reply = together.post(PATH, json!(requests).to_string()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let verdicts = reply.json();
    let verdicts = verdicts.as_array().unwrap();
    assert_eq!(verdicts.len(), requests.len());
    for (request, verdict) in requests.iter().zip(verdicts) {
        assert_eq!(*verdict, alone.throttle(request.to_string()).await.json(), "{request}");
    }
    assert!(verdicts.iter().any(|verdict| verdict["allowed"] == false), "some were refused");
}

#[tokio::test]
async fn an_empty_batch_has_an_empty_response() {
    let gate = TestServer::open().await;
    assert_eq!(gate.client().await.post(PATH, "[]").await.text(), "[]");
}

#[tokio::test]
async fn an_invalid_batch_reports_all_errors_and_charges_nothing() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let body =
        r#"[{"key":"a","quota":"1/min"},{"key":"","quota":"1/min"},{"key":"a","qouta":"1/min"}]"#;
    let reply = client.post(PATH, body).await;
    assert_eq!(reply.status, 400);
    let problem = reply.problem();
    let errors = problem["errors"].as_array().unwrap();
    for field in ["[1].key", "[2].qouta", "[2].quota"] {
        assert!(errors.iter().any(|error| error["field"] == field), "{field} in {problem}");
    }
    assert_eq!(client.throttle(r#"{"key":"a","quota":"1/min"}"#).await.status, 200);
}

#[tokio::test]
async fn invalid_and_long_lists_are_refused() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let long = format!("[{}]", vec!["{}"; 1_001].join(","));
    let invalid_items = format!("[{}]", vec!["{}"; 1_000].join(","));
    for (body, expected) in [
        (r#"{"key":"a","quota":"1/min"}"#, "it is not a list of objects"),
        ("", "it is not a list of objects"),
        ("[", "it is not a list of objects"),
        (&long, "it has 1001 requests; send at most 1000 at a time"),
        (&invalid_items, "more errors"),
    ] {
        let reply = client.post(PATH, body).await;
        assert_eq!(reply.status, 400);
        assert!(reply.problem().to_string().contains(expected), "{}", reply.text());
        assert!(reply.text().len() < 20_000, "{} bytes", reply.text().len());
    }
    let reply = client.post(&format!("{PATH}?deny_status=403"), "[]").await;
    assert!(reply.problem().to_string().contains("no query parameters"), "{}", reply.text());
}

/// Rules with limits, slots, tiers, shadows, soft limits, lists and missing identities.
const RULES: &str = r#"
identify:
  user: { header: x-user-id }
  api_key: { header: x-api-key, secret: true, if_missing: "401" }
  tier: { lookup: user, table: { u1: premium }, default: free }
tiers:
  free: { api: [3/min, 20/day] }
  premium: { api: 9/min }
rules:
  - { name: api, key: user, limit: { tier: api } }
  - { name: soft, match: { path: "/soft/**" }, key: user, limit: 1/min, soft: { extra: 2, delay: 50ms } }
  - { name: shadow, key: user, limit: 1/min, mode: shadow }
  - { name: keyed, match: { path: /keyed }, key: api_key, limit: 2/min }
  - { name: exports, match: { path: "/soft/**" }, key: [], limit: 9/day, algorithm: fixed_window }
  - { name: all, key: [], limit: 30/min, algorithm: sliding_window }
block: [{ user: u4 }]
allow: [{ user: u3 }]
"#;

#[tokio::test]
async fn a_batch_of_checks_equals_single_checks() {
    let ((together, _), (alone, _)) = (TestServer::by(RULES).await, TestServer::by(RULES).await);
    let (mut together, mut alone) = (together.client().await, alone.client().await);
    let requests: Vec<Value> = (0..200)
        .map(|number| {
            let path = ["/", "/soft/a", "/keyed"][number % 3];
            json!({"attributes": {"path": path}, "headers": {"x-user-id": format!("u{}", number % 5)},
                   "cost": if number % 7 == 0 { 2 } else { 1 }})
        })
        .collect();
    let reply = together.post("/v1/check/batch", json!(requests).to_string()).await;
    assert_eq!(reply.status, 200);
    let verdicts = reply.json();
    let verdicts = verdicts.as_array().unwrap();
    assert_eq!(verdicts.len(), requests.len());
    for (request, verdict) in requests.iter().zip(verdicts) {
        let single = alone.post("/v1/check", request.to_string()).await;
        assert_eq!(*verdict, single.json(), "{request}");
    }
    for reason in [json!(null), json!("exhausted"), json!("listed"), json!("unidentified")] {
        assert!(verdicts.iter().any(|verdict| verdict["reason"] == reason), "{reason}");
    }
}

#[tokio::test]
async fn a_list_may_have_up_to_1_mib() {
    let (gate, _) = TestServer::by("rules: []").await;
    let mut client = gate.client().await;
    let one = json!({"headers": {"user-agent": "x".repeat(900)}});
    let list = json!(vec![one.clone(); 1_000]).to_string();
    assert_eq!(client.post("/v1/check/batch", &list).await.status, 200);
    let longer = format!("{list}{}", " ".repeat(1 << 20));
    assert_eq!(client.post("/v1/check/batch", longer).await.status, 413);
}

#[tokio::test]
async fn batches_keep_their_order_around_calendar_windows() {
    const RULES: &str = "
        rules:
          - { name: all, key: [], limit: 2/min }
          - { name: exports, match: { path: /export }, key: [], limit: 5/day, algorithm: fixed_window }
    ";
    let (gate, _) = TestServer::by(RULES).await;
    let request = |path: &str| json!({"attributes": {"path": path}});
    let list = json!(["/export", "/a", "/b"].map(request)).to_string();
    let verdicts = gate.client().await.post("/v1/check/batch", list).await.json();
    let allowed: Vec<_> = (0..3).map(|index| verdicts[index]["allowed"].clone()).collect();
    assert_eq!(allowed, [json!(true), json!(true), json!(false)], "{verdicts}");

    let (gate, _) = TestServer::by(RULES).await;
    let mut client = gate.resp().await;
    let commands = ["/export", "/a", "/b"].map(|path| command(&["SLUICEGATE.CHECK", "path", path]));
    client.send(&commands.concat()).await;
    for (place, allowed) in [1, 1, 0].into_iter().enumerate() {
        let answer = client.answer().await;
        assert_eq!(*answer.get("allowed"), RespReply::Integer(allowed), "{place}: {answer:?}");
    }
}
