//! Tests of the keys of counters.

use serde_json::json;

use super::test_server::TestServer;

#[tokio::test]
async fn the_default_algorithm_is_the_token_bucket() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    client.throttle(r#"{"key":"k","quota":"9/min"}"#).await;
    let named = client.throttle(r#"{"key":"k","quota":"9/min","algorithm":"token_bucket"}"#).await;
    assert_eq!(named.json()["remaining"], 7);
}

#[tokio::test]
async fn a_counter_is_shared_by_all_quotas_of_a_key() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let body = |quota| json!({"key": "k", "quota": quota, "algorithm": "fixed_window"}).to_string();
    for _ in 0..3 {
        assert_eq!(client.throttle(body("10/min")).await.status, 200);
    }
    let raised = client.throttle(body("20/min")).await.json();
    assert_eq!((&raised["limit"], &raised["remaining"]), (&json!(20), &json!(16)));
    assert_eq!(client.throttle(body("4/min")).await.status, 429);
}

#[tokio::test]
async fn each_key_has_its_own_counter() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let keys = ["a", "a\0", "\0", "🚪", "a\nb", "a\r\n\r\nb", "\"", "\\", " ", "é", "e\u{301}"];
    let longest = "k".repeat(4_096);
    for key in keys.into_iter().chain([longest.as_str()]) {
        let body = json!({"key": key, "quota": "1/min"}).to_string();
        assert_eq!(client.throttle(&body).await.status, 200, "{key:?}");
        assert_eq!(client.throttle(&body).await.status, 429, "{key:?}");
    }
}

#[tokio::test]
async fn escapes_in_a_key_do_not_matter() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    assert_eq!(client.throttle(r#"{"key":"user","quota":"1/min"}"#).await.status, 200);
    assert_eq!(client.throttle(r#"{"key":"\u0075ser","quota":"1/min"}"#).await.status, 429);
    assert_eq!(client.throttle(r#"{"\u006bey":"user","quota":"1/min"}"#).await.status, 429);
}
