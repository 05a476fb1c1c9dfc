//! Tests of the costs of requests.

use sluicegate_rules::AttributeValue;

use crate::harness::{Call, TestLimiter, rules};

fn price(cost: &str, call: &Call) -> u64 {
    let text = format!("rules: [{{ name: api, key: [], limit: 1000000/min, cost: {cost} }}]");
    call.price(&rules(&text))
}

fn get(target: &str) -> Call {
    Call::to("GET", target)
}

#[test]
fn the_first_matching_endpoint_sets_the_cost() {
    let cost = "{ 'GET /search': 5, 'POST /upload': 50, '/videos/{id}': 200, '/videos/**': 20, DELETE: 7, default: 2 }";
    for (call, units) in [
        (get("/search"), 5),
        (get("/search?q=x"), 5),
        (get("//search/"), 5),
        (Call::to("POST", "/search"), 2),
        (Call::to("post", "/upload"), 50),
        (get("/videos/1"), 200),
        (get("/videos/1/parts"), 20),
        (get("/videos"), 20),
        (Call::to("DELETE", "/x"), 7),
        (Call::to("DELETE", "/videos/1"), 200),
        (get("/"), 2),
        (Call::new(), 2),
        (Call::new().text("method", "GET").text("path", "/search"), 5),
    ] {
        assert_eq!(price(cost, &call), units, "{call:?}");
    }
}

#[test]
fn headers_and_attributes_are_read_as_numbers() {
    let header = |value: &str| get("/").header("X-Cost", value);
    for (value, units) in [
        ("7", 7),
        (" 7 ", 7),
        ("+7", 7),
        ("6.2", 7),
        ("1e2", 100),
        ("0", 1),
        ("-5", 1),
        ("-0.5", 1),
        ("", 3),
        ("many", 3),
        ("inf", 3),
        ("NaN", 3),
        ("99999999999999999999999999999999999999999999", 500),
        ("501", 500),
    ] {
        assert_eq!(
            price("{ header: x-cost, default: 3, max: 500 }", &header(value)),
            units,
            "{value}"
        );
    }
    assert_eq!(price("{ header: x-cost, default: 3, max: 500 }", &get("/")), 3);
    assert_eq!(
        price("{ header: x-cost, default: 3, max: 500 }", &header("7").header("x-cost", "8")),
        8,
        "a repeated line makes nothing cheaper"
    );
    for (value, units) in [
        (AttributeValue::Whole(7), 7),
        (AttributeValue::Whole(0), 1),
        (AttributeValue::Whole(-7), 1),
        (AttributeValue::Whole(i64::MIN), 1),
        (AttributeValue::Whole(i64::MAX), sluicegate::Cost::MAX.units()),
        (AttributeValue::Real(6.01), 7),
        (AttributeValue::Real(f64::NAN), 3),
        (AttributeValue::Real(f64::INFINITY), 3),
        (AttributeValue::Real(1e300), sluicegate::Cost::MAX.units()),
        (AttributeValue::Text("12"), 12),
        (AttributeValue::Flag(true), 3),
    ] {
        let call = get("/").attribute("credits", value);
        assert_eq!(price("{ attribute: credits, default: 3 }", &call), units, "{value:?}");
    }
}

#[test]
fn bodies_cost_units_per_started_block() {
    const PART: u64 = 64 * 1_024;
    for (bytes, units) in [
        (0, 1),
        (1, 2),
        (PART - 1, 2),
        (PART, 2),
        (PART + 1, 4),
        (10 * PART, 20),
        (10 * PART + 1, 22),
        (u64::MAX, 1 << 49),
    ] {
        assert_eq!(price("{ body: 2 per 64KiB }", &get("/").body(bytes)), units, "{bytes}");
    }
    let length = |value: &str| get("/").header("content-length", value);
    for (call, units) in [
        (length("65537"), 4),
        (length("65537").body(1), 2),
        (length("a lot"), 5),
        (length("-1"), 5),
        (get("/"), 5),
    ] {
        assert_eq!(price("{ body: 2 per 64KiB, default: 5 }", &call), units, "{call:?}");
    }
}

#[test]
fn a_body_of_unknown_size_costs_the_maximum() {
    let post = || Call::to("POST", "/");
    let length = |value: &str| post().header("content-length", value);
    for (call, units) in [
        (post().body(10 << 20), 160),
        (length("65537"), 2),
        (post(), 500),
        (length("10485760").header("content-length", "1"), 500),
        (length("10485760, 10485760"), 500),
        (length("-1"), 500),
        (post().cost(3), 500),
        (post().cost(0), 0),
        (get("/").header("transfer-encoding", "chunked"), 500),
    ] {
        assert_eq!(price("{ body: 1 per 64KiB, max: 500 }", &call), units, "{call:?}");
        assert_eq!(price("{ body: 1 per 64KiB, default: 7, max: 500 }", &call), units, "{call:?}");
    }
    // Without a maximum, the default cost; a missing measure other than the body is not a body.
    assert_eq!(price("{ body: 1 per 64KiB, default: 7 }", &post()), 7);
    assert_eq!(price("{ body: 1 per 64KiB }", &post()), 1);
    assert_eq!(price("{ body: 1 per 64KiB, max: 500 }", &get("/")), 1, "it has no body");
    assert_eq!(price("{ attribute: units, max: 500 }", &post()), 1);
    assert_eq!(price("{ 'POST /': 4, body: 1 per 64KiB, max: 500 }", &post()), 4);
}

#[test]
fn a_cost_above_the_capacity_is_refused_permanently() {
    let gate = TestLimiter::of("rules: [{ name: api, key: ip, limit: 5/min }]");
    let answer = gate.refuse(&Call::new().peer("203.0.113.9").cost(6));
    assert_eq!(
        (answer.refusal, answer.retry_after),
        (Some(sluicegate::Refusal::CostAboveLimit), None)
    );
}
