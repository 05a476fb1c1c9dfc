//! Which requests share a counter, and which do not.

use serde_json::json;

use super::gate::Gate;

#[tokio::test]
async fn the_algorithm_left_out_is_a_token_bucket() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    client.throttle(r#"{"key":"k","quota":"9/min"}"#).await;
    let named = client.throttle(r#"{"key":"k","quota":"9/min","algorithm":"token_bucket"}"#).await;
    assert_eq!(named.json()["remaining"], 7);
}

#[tokio::test]
async fn one_key_with_another_quota_is_one_counter() {
    let gate = Gate::open().await;
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
async fn two_keys_are_two_counters_whatever_is_in_them() {
    let gate = Gate::open().await;
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
async fn a_key_is_the_same_however_it_is_escaped() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    assert_eq!(client.throttle(r#"{"key":"user","quota":"1/min"}"#).await.status, 200);
    assert_eq!(client.throttle(r#"{"key":"\u0075ser","quota":"1/min"}"#).await.status, 429);
    assert_eq!(client.throttle(r#"{"\u006bey":"user","quota":"1/min"}"#).await.status, 429);
}
