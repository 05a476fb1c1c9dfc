//! Shopify: leaky buckets for requests and for points.

use std::time::Duration;

use sluicegate::Refusal;
use sluicegate_rules::{AttributeValue, Request};

use super::policy_test::PolicyTest;

const SHOP: [(&str, &str); 1] = [("x-shopify-shop-domain", "bakery.example")];
const REST: &str = "/admin/api/2026-01/products.json";
const GRAPHQL: &str = "/admin/api/2026-01/graphql.json";

fn app(plan: &'static str) -> [(&'static str, AttributeValue<'static>); 2] {
    [("app", AttributeValue::Text("labels")), ("plan", AttributeValue::Text(plan))]
}

fn query(plan: &'static str, cost: i64) -> [(&'static str, AttributeValue<'static>); 3] {
    [
        ("app", AttributeValue::Text("labels")),
        ("plan", AttributeValue::Text(plan)),
        ("query_cost", AttributeValue::Whole(cost)),
    ]
}

#[test]
fn holds_forty_requests_and_leaks_two_a_second_or_ten_times_that_on_plus() {
    for (plan, size, leak) in [("standard", 40, 2), ("plus", 400, 20)] {
        let policy = PolicyTest::of("shopify");
        let attributes = app(plan);
        let request =
            Request::new().method("GET").target(REST).headers(&SHOP).attributes(&attributes);
        assert_eq!(policy.burst(&request), size, "{plan}");
        let each = Duration::from_secs(1) / u32::try_from(leak).unwrap();
        assert_eq!(policy.come_back("rest", &request), each);
        policy.wait(Duration::from_secs(1));
        assert_eq!(policy.burst(&request), leak);
        policy.wait(Duration::from_secs(20));
        assert_eq!(policy.burst(&request), size, "empty after twenty seconds");
    }
}

#[test]
fn counts_each_app_in_each_store_by_itself() {
    let policy = PolicyTest::of("shopify");
    let attributes = app("standard");
    let request = Request::new().method("GET").target(REST).attributes(&attributes);
    assert_eq!(policy.burst(&request.headers(&SHOP)), 40);
    let elsewhere = [("x-shopify-shop-domain", "florist.example")];
    assert_eq!(policy.burst(&request.headers(&elsewhere)), 40);
    let another = [("app", AttributeValue::Text("reviews"))];
    assert_eq!(policy.burst(&request.headers(&SHOP).attributes(&another)), 40);
}

#[test]
fn charges_queries_their_cost() {
    let post = Request::new().method("POST").target(GRAPHQL).headers(&SHOP);
    for (plan, points, restored) in [("standard", 2_000, 100), ("plus", 20_000, 1_000)] {
        let policy = PolicyTest::of("shopify");
        let dear = query(plan, 1_000);
        let request = post.attributes(&dear);
        assert_eq!(policy.burst(&request), points / 1_000, "{plan}");
        let wait = Duration::from_secs(1_000) / u32::try_from(restored).unwrap();
        assert_eq!(policy.refuse("graphql", &request).retry_after, Some(wait));
        let elsewhere = [("x-shopify-shop-domain", "florist.example")];
        assert_eq!(policy.burst(&request.headers(&elsewhere)), points / 1_000);
        policy.wait(Duration::from_secs(1));
        let cheap = query(plan, 10);
        assert_eq!(policy.burst(&post.attributes(&cheap)), restored / 10);

        let requests = app(plan);
        let rest = Request::new().method("GET").target(REST).headers(&SHOP).attributes(&requests);
        assert!(policy.ask(&rest).allowed, "requests have a bucket of their own");
    }
}

#[test]
fn never_admits_a_query_of_more_than_a_thousand_points() {
    let policy = PolicyTest::of("shopify");
    let too_dear = query("plus", 1_001);
    let request =
        Request::new().method("POST").target(GRAPHQL).headers(&SHOP).attributes(&too_dear);
    let refused = policy.refuse("single-query", &request);
    assert_eq!((refused.refusal, refused.retry_after), (Some(Refusal::CostAboveLimit), None));
    let dear = query("plus", 1_000);
    assert_eq!(policy.burst(&request.attributes(&dear)), 20, "the refused one was not charged");
}

#[test]
fn requires_the_app_and_the_store() {
    let policy = PolicyTest::of("shopify");
    let request = Request::new().method("GET").target(REST);
    let attributes = app("plus");
    policy.refuse("rest", &request.attributes(&attributes));
    policy.refuse("rest", &request.headers(&SHOP));
}
