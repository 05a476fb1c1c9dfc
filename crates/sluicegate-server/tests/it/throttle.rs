//! Tests of `/v1/throttle`: verdict, status and headers.

use serde_json::json;
use sfv::{BareItem, List, ListEntry, Parser};

use super::raw_client::Reply;
use super::test_server::TestServer;

/// Parses the only item of a field: its text and its integer parameters.
fn item(reply: &Reply, name: &str) -> (String, Vec<(String, i64)>) {
    let list: List = Parser::new(reply.header(name).unwrap()).parse().unwrap();
    let [ListEntry::Item(item)] = &list[..] else { panic!("not a list of one item: {list:?}") };
    let BareItem::String(rule) = &item.bare_item else { panic!("not a string: {item:?}") };
    let parameters = item.params.iter().map(|(name, value)| {
        let BareItem::Integer(number) = value else { panic!("not an integer: {value:?}") };
        (name.to_string(), i64::from(*number))
    });
    (rule.to_string(), parameters.collect())
}

fn named(parameters: &[(&str, i64)]) -> (String, Vec<(String, i64)>) {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value));
    ("throttle".to_owned(), parameters.collect())
}

#[tokio::test]
async fn a_cost_above_the_limit_has_no_retry() {
    let gate = TestServer::open().await;
    let body = r#"{"key":"user:42","quota":"5/min","cost":9007199254740991}"#;
    let refused = gate.client().await.throttle(body).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), None);
    let verdict = refused.json();
    assert_eq!(verdict["reason"], "cost_above_limit");
    assert_eq!(verdict["retry_after_ms"], json!(null));
    assert_eq!(verdict["cost"], 9_007_199_254_740_991_u64);
    assert_eq!(item(&refused, "ratelimit"), named(&[("r", 5)]), "the full capacity is left");
}

#[tokio::test]
async fn deny_status_sets_the_status_of_refusals() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let one = r#"{"key":"k","quota":"1/min"}"#;
    assert_eq!(client.post("/v1/throttle?deny_status=403", one).await.status, 200);
    for status in [200, 204, 205, 304, 403, 503, 599] {
        let refused = client.post(&format!("/v1/throttle?deny_status={status}"), one).await;
        assert_eq!(refused.status, status);
        assert_eq!(refused.header("retry-after"), Some("60"));
        match status {
            204 | 205 | 304 => assert!(refused.body.is_empty(), "{status} ends with its head"),
            _ => assert_eq!(refused.json()["allowed"], false),
        }
    }
    let invalid = client.post("/v1/throttle?deny_status=teapot", "{}").await;
    let fields: Vec<_> = invalid.problem()["errors"].as_array().unwrap().clone();
    let fields: Vec<_> = fields.iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["deny_status", "key", "quota"]);
}

#[tokio::test]
async fn calendar_months_have_no_window_and_huge_quotas_fit_their_fields() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let months = r#"{"key":"k","quota":"10/month","algorithm":"fixed_window"}"#;
    let reply = client.throttle(months).await;
    assert_eq!(item(&reply, "ratelimit-policy"), named(&[("q", 10)]));

    let amount = 1_u64 << 52;
    let huge = format!(
        r#"{{"key":"k","quota":"{amount}/day","algorithm":"sliding_window","strict":true}}"#
    );
    let reply = client.throttle(huge).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("x-ratelimit-limit"), Some("4503599627370496"));
    let largest = 999_999_999_999_999;
    assert_eq!(item(&reply, "ratelimit-policy"), named(&[("q", largest), ("w", 86_400)]));
    assert_eq!(item(&reply, "ratelimit").1[0], ("r".into(), largest));
}

#[tokio::test]
async fn a_period_below_a_second_has_a_window_of_one() {
    let gate = TestServer::open().await;
    let mut client = gate.client().await;
    let reply = client.throttle(r#"{"key":"k","quota":"1/ms"}"#).await;
    assert_eq!(item(&reply, "ratelimit-policy"), named(&[("q", 1), ("w", 1)]));
    let refused = client.throttle(r#"{"key":"k","quota":"1/ms"}"#).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["retry_after_ms"], 1);
}
