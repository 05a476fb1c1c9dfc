//! What requests cost.

use tollgate_rules::Value;

use crate::gate::{Call, Gate, rules};

fn price(cost: &str, call: &Call) -> u64 {
    let text = format!("rules: [{{ name: api, key: [], limit: 1000000/min, cost: {cost} }}]");
    call.price(&rules(&text))
}

fn get(target: &str) -> Call {
    Call::to("GET", target)
}

#[test]
fn endpoints_cost_what_the_first_that_matches_says() {
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
        (Call::new().told("method", "GET").told("path", "/search"), 5),
    ] {
        assert_eq!(price(cost, &call), units, "{call:?}");
    }
}

#[test]
fn what_the_sender_says_counts_where_the_rule_says_nothing() {
    for (cost, call, units) in [
        ("{}", get("/"), 1),
        ("{}", get("/").cost(9), 9),
        ("{ max: 5 }", get("/").cost(9), 5),
        ("3", get("/").cost(9), 3),
        ("{ default: 3 }", get("/").cost(9), 3),
        ("{ 'GET /': 4 }", get("/").cost(9), 4),
        ("{ 'GET /x': 4 }", get("/").cost(9), 9),
        ("{}", get("/").cost(u64::MAX), tollgate::Cost::MAX.units()),
    ] {
        assert_eq!(price(cost, &call), units, "{cost} {call:?}");
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
        (Value::Whole(7), 7),
        (Value::Whole(0), 1),
        (Value::Whole(-7), 1),
        (Value::Whole(i64::MIN), 1),
        (Value::Whole(i64::MAX), tollgate::Cost::MAX.units()),
        (Value::Real(6.01), 7),
        (Value::Real(f64::NAN), 3),
        (Value::Real(f64::INFINITY), 3),
        (Value::Real(1e300), tollgate::Cost::MAX.units()),
        (Value::Text("12"), 12),
        (Value::Flag(true), 3),
    ] {
        let call = get("/").attribute("credits", value);
        assert_eq!(price("{ attribute: credits, default: 3 }", &call), units, "{value:?}");
    }
}

#[test]
fn bodies_cost_for_every_part_that_has_begun() {
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
fn a_body_of_unknown_size_costs_the_most_that_there_is() {
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
    // Without a most, what everything else costs; and other measures that are missing are no bodies.
    assert_eq!(price("{ body: 1 per 64KiB, default: 7 }", &post()), 7);
    assert_eq!(price("{ body: 1 per 64KiB }", &post()), 1);
    assert_eq!(price("{ body: 1 per 64KiB, max: 500 }", &get("/")), 1, "it has no body");
    assert_eq!(price("{ attribute: units, max: 500 }", &post()), 1);
    assert_eq!(price("{ 'POST /': 4, body: 1 per 64KiB, max: 500 }", &post()), 4);
}

#[test]
fn a_cost_of_nothing_only_looks() {
    let gate = Gate::of(
        "rules: [{ name: api, key: ip, limit: 5/min, cost: 2 }, { name: slots, key: ip, limit: { concurrent: 1 } }]",
    );
    let call = Call::new().peer("203.0.113.9");
    for _ in 0..10 {
        let told = gate.admit(1, &call.clone().cost(0));
        assert_eq!((told.left("api"), told.cost, told.slot), (Some(5), 0, None));
    }
    let told = gate.admit(1, &call);
    assert_eq!((told.left("api"), told.cost), (Some(3), 2));
}

#[test]
fn each_rule_charges_its_own_price_and_all_or_nothing() {
    let gate = Gate::of(
        "
rules:
  - { name: requests, key: ip, limit: 100/min }
  - { name: units, key: ip, limit: 100/min, cost: { 'GET /search': 30, default: 1 } }
  - { name: slots, key: ip, limit: { concurrent: 10 }, cost: 5 }
",
    );
    let call = get("/search").peer("203.0.113.9");
    let told = gate.admit(3, &call);
    assert_eq!(
        (told.left("requests"), told.left("units"), told.left("slots~slots")),
        (Some(97), Some(10), Some(7))
    );
    assert_eq!(told.cost, 30);
    let refused = gate.refuse(&call);
    assert_eq!(refused.rule.as_deref(), Some("units"));
    // Refused by one, charged by none.
    let told = gate.admit(1, &get("/other").peer("203.0.113.9"));
    assert_eq!((told.left("requests"), told.left("units")), (Some(96), Some(9)));
}

#[test]
fn more_than_a_limit_ever_holds_is_refused_for_good() {
    let gate = Gate::of("rules: [{ name: api, key: ip, limit: 5/min }]");
    let told = gate.refuse(&Call::new().peer("203.0.113.9").cost(6));
    assert_eq!((told.refusal, told.retry_after), (Some(tollgate::Refusal::CostAboveLimit), None));
}
