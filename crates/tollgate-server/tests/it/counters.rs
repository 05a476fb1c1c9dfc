//! Which requests share a counter, and which do not.

use std::time::Duration;

use serde_json::json;

use super::gate::Gate;

#[tokio::test]
async fn every_algorithm_admits_the_amount_and_counts_one_key_alone() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    for algorithm in
        ["token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"]
    {
        let body = json!({"key": "k", "quota": "3/min", "algorithm": algorithm}).to_string();
        for left in [2, 1, 0] {
            let reply = client.throttle(&body).await.json();
            assert_eq!((&reply["allowed"], &reply["remaining"]), (&json!(true), &json!(left)));
            assert_eq!(reply["decisions"][0]["limit_name"], format!("throttle:{algorithm}"));
            assert_eq!(reply["decisions"][0]["algorithm"], algorithm);
        }
        assert_eq!(client.throttle(&body).await.status, 429, "{algorithm}");
    }
}

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

#[tokio::test]
async fn slices_and_strictness_reach_the_sliding_window() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    let body = |key, strict, cost| {
        let slices = if strict { 6 } else { 1 };
        let body = json!({"key": key, "quota": "60/min", "algorithm": "sliding_window",
                          "slices": slices, "strict": strict, "cost": cost});
        body.to_string()
    };
    for (key, strict) in [("weighted", false), ("strict", true)] {
        assert_eq!(client.throttle(body(key, strict, 60)).await.status, 200);
    }
    // Half a window later and more, the weighted one forgets by and by, the strict one not yet.
    gate.clock.advance(Duration::from_secs(65));
    assert_eq!(client.throttle(body("weighted", false, 5)).await.status, 200);
    assert_eq!(client.throttle(body("strict", true, 1)).await.status, 429);
}
