//! What is answered to a throttled request: verdict, status and headers.

use std::time::Duration;

use serde_json::json;
use sfv::{BareItem, List, ListEntry, Parser};

use super::client::Reply;
use super::gate::Gate;

const FIVE: &str = r#"{"key":"user:42","quota":"5/min"}"#;

/// A field's only item: its text and its integer parameters, as any client would read them.
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
async fn the_first_request_is_admitted_and_told_how_it_stands() {
    let gate = Gate::open().await;
    let reply = gate.client().await.throttle(FIVE).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.text(),
        "{\"allowed\":true,\"rule\":\"throttle\",\"reason\":null,\"limit\":5,\"remaining\":4,\
         \"cost\":1,\"retry_after_ms\":null,\"reset_after_ms\":12000,\"delay_ms\":0,\
         \"decisions\":[{\"limit_name\":\"throttle:token_bucket\",\
         \"algorithm\":\"token_bucket\",\"allowed\":true,\"reason\":null,\"limit\":5,\
         \"remaining\":4,\"granted\":1,\"retry_after_ms\":null,\"reset_after_ms\":12000,\
         \"delay_ms\":0}]}"
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-ratelimit-limit"), Some("5"));
    assert_eq!(reply.header("x-ratelimit-remaining"), Some("4"));
    assert_eq!(reply.header("x-ratelimit-reset"), Some("12"));
    assert_eq!(reply.header("retry-after"), None);
    assert_eq!(item(&reply, "ratelimit-policy"), named(&[("q", 5), ("w", 60)]));
    assert_eq!(item(&reply, "ratelimit"), named(&[("r", 4), ("t", 12)]));
}

#[tokio::test]
async fn the_sixth_of_five_a_minute_is_refused_until_exactly_when_it_was_told() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    for _ in 0..5 {
        assert_eq!(client.throttle(FIVE).await.status, 200);
    }
    let refused = client.throttle(FIVE).await;
    assert_eq!(refused.status, 429);
    let verdict = refused.json();
    assert_eq!(verdict["allowed"], false);
    assert_eq!(verdict["reason"], "exhausted");
    assert_eq!(verdict["retry_after_ms"], 12_000);
    assert_eq!(verdict["reset_after_ms"], 60_000);
    assert_eq!(verdict["decisions"][0]["granted"], 0);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert_eq!(refused.header("x-ratelimit-limit"), Some("5"));
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(refused.header("x-ratelimit-reset"), Some("60"));
    assert_eq!(refused.header("retry-after"), Some("12"));
    assert_eq!(item(&refused, "ratelimit-policy"), named(&[("q", 5), ("w", 60)]));
    assert_eq!(item(&refused, "ratelimit"), named(&[("r", 0), ("t", 12)]));

    gate.clock.advance(Duration::from_micros(11_999_999));
    let early = client.throttle(FIVE).await;
    assert_eq!(early.status, 429);
    assert_eq!(early.json()["retry_after_ms"], 1, "rounded up, never to nothing");
    assert_eq!(early.header("retry-after"), Some("1"));
    gate.clock.advance(Duration::from_micros(1));
    assert_eq!(client.throttle(FIVE).await.status, 200);
}

#[tokio::test]
async fn a_cost_of_zero_only_looks() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    client.throttle(FIVE).await;
    for _ in 0..10 {
        let peeked = client.throttle(r#"{"key":"user:42","quota":"5/min","cost":0}"#).await;
        assert_eq!((peeked.status, &peeked.json()["remaining"]), (200, &json!(4)));
    }
}

#[tokio::test]
async fn a_cost_above_the_limit_is_refused_for_good() {
    let gate = Gate::open().await;
    let body = r#"{"key":"user:42","quota":"5/min","cost":9007199254740991}"#;
    let refused = gate.client().await.throttle(body).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), None);
    let verdict = refused.json();
    assert_eq!(verdict["reason"], "cost_above_limit");
    assert_eq!(verdict["retry_after_ms"], json!(null));
    assert_eq!(verdict["cost"], 9_007_199_254_740_991_u64);
    assert_eq!(item(&refused, "ratelimit"), named(&[("r", 5)]), "there is never more");
}

#[tokio::test]
async fn a_refusal_has_the_status_that_was_asked_for() {
    let gate = Gate::open().await;
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
    let mistaken = client.post("/v1/throttle?deny_status=teapot", "{}").await;
    let fields: Vec<_> = mistaken.problem()["errors"].as_array().unwrap().clone();
    let fields: Vec<_> = fields.iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["deny_status", "key", "quota"]);
}

#[tokio::test]
async fn a_queue_says_how_long_to_wait_for_the_turn() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    let body = r#"{"key":"k","quota":"2/s burst 1","algorithm":"queue"}"#;
    assert_eq!(client.throttle(body).await.json()["delay_ms"], 0);
    assert_eq!(client.throttle(body).await.json()["delay_ms"], 500);
    assert_eq!(client.throttle(body).await.status, 429);
}

#[tokio::test]
async fn calendar_months_have_no_window_and_huge_quotas_fit_their_fields() {
    let gate = Gate::open().await;
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
async fn a_rate_faster_than_a_second_still_has_a_window_of_one() {
    let gate = Gate::open().await;
    let mut client = gate.client().await;
    let reply = client.throttle(r#"{"key":"k","quota":"1/ms"}"#).await;
    assert_eq!(item(&reply, "ratelimit-policy"), named(&[("q", 1), ("w", 1)]));
    let refused = client.throttle(r#"{"key":"k","quota":"1/ms"}"#).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["retry_after_ms"], 1);
}
