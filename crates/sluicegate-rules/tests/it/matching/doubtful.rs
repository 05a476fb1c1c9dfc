//! Tests that ambiguous requests never bypass a limit.

use super::{get, meets};
use crate::harness::{Call, rules};

#[test]
fn a_rule_matches_any_reading_of_a_path() {
    for target in [
        "/api%2Fcheckout",
        "/api%2fcheckout",
        "/api%5Ccheckout",
        "/x%2F..%2Fapi/checkout",
        "/x/..%2Fapi%2Fcheckout",
        "/x%5c..%5capi%5ccheckout",
        "/x%2f..%5capi/checkout",
        "/api/%2e%2e%2Fapi/checkout",
    ] {
        assert!(meets("path: /api/checkout", &get(target)), "{target}");
    }
    // The other reading: the slash belongs to the segment.
    assert!(meets("path: '/files/{name}'", &get("/files/a%2Fb")));
    assert!(meets("path: '/files/{folder}/{name}'", &get("/files/a%2Fb")));
}

#[test]
fn an_exception_matches_only_if_all_readings_do() {
    let but_health = "path: '/**', not: { path: '/health/**' }";
    for target in [
        "/health/..%2Fcheckout",
        "/health/..%2fcheckout",
        "/health/..%5Ccheckout",
        "/health/%2e%2e%2Fcheckout",
        "/health%2F..%2Fcheckout",
        "/health/x%2F..%2F..%2Fcheckout",
    ] {
        assert!(meets(but_health, &get(target)), "{target} slips through");
    }
    for target in
        ["/health", "/health/live", "/health%2Flive", "/x/../health/live", "/health/a%2Fb"]
    {
        // `/health%2Flive` is one segment in one reading, which is not under `/health`; and not
        // every upstream resolves dots.
        let expected = ["/health%2Flive", "/x/../health/live"].contains(&target);
        assert_eq!(meets(but_health, &get(target)), expected, "{target}");
    }
    // In an exception of an exception, any matching reading counts again.
    let inner = "path: '/**', not: { path: '/health/**', not: { path: '/health/admin/**' } }";
    assert!(meets(inner, &get("/health/admin")));
    assert!(meets(inner, &get("/health/x%2F..%2Fadmin")));
    assert!(!meets(inner, &get("/health/live")));
}

#[test]
fn an_ambiguous_path_matches_a_rule_and_its_exception() {
    for call in [
        get("/x/../checkout"),
        get("/checkout;session=1"),
        get("\\checkout"),
        Call::new().text("path", "/x/..//%63heckout?a=b"),
    ] {
        assert!(meets("path: /checkout", &call), "{call:?}");
        assert!(meets("not: { path: /checkout }", &call), "{call:?}");
    }
}

#[test]
fn no_spelling_bypasses_a_rule() {
    for target in [
        "/search/q",
        "/search//../q",
        "/search/..;/q",
        "/search/q\\..\\..\\x",
        "/search/../q",
        "/search/%2e%2e/q",
        "/search/x/..%5c..%5cq",
        "/search/..%2fq",
    ] {
        assert!(meets("path: '/search/**'", &get(target)), "{target}");
    }
    let but_health = "not: { path: '/health/**' }";
    for target in ["/checkout//../health/x", "/checkout/..;/health/x", "/checkout/\\..\\..\\health"]
    {
        assert!(meets(but_health, &get(target)), "{target}");
        assert!(meets("path: '/checkout/**'", &get(target)), "{target}");
    }
}

#[test]
fn a_malformed_host_matches_rules_but_never_exceptions() {
    for call in [
        get("/").host("user@api.example.com"),
        get("/").host("api.example.com evil"),
        get("/").host(""),
        get("/").header("host", "internal.example.com").header("host", "api.example.com"),
        get("http://user@internal.example.com/").host("internal.example.com"),
        get("http:///").host("internal.example.com"),
    ] {
        assert!(meets("host: api.example.com", &call), "{call:?}");
        assert!(meets("not: { host: internal.example.com }", &call), "{call:?}");
        assert!(
            meets("host: '*.example.com', not: { host: internal.example.com }", &call),
            "{call:?}"
        );
    }
}

#[test]
fn any_line_of_a_header_matches_a_rule_and_only_all_lines_an_exception() {
    let lines =
        |lines: &[&str]| lines.iter().fold(get("/"), |call, line| call.header("X-Internal", line));
    for (matched, sent, expected) in [
        ("header: { x-internal: 'yes' }", &["no", "yes"][..], true),
        ("header: { x-internal: 'yes' }", &["no", "no"], false),
        ("header: { x-internal: { not: 'yes' } }", &["yes", "no"], true),
        ("header: { x-internal: { not: 'yes' } }", &["yes", "yes"], false),
        ("not: { header: { x-internal: 'yes' } }", &["no", "yes"], true),
        ("not: { header: { x-internal: 'yes' } }", &["yes", "no"], true),
        ("not: { header: { x-internal: 'yes' } }", &["yes", "yes"], false),
        ("not: { header: { x-internal: 'yes' } }", &[], true),
        ("not: { header: { x-internal: { not: 'no' } } }", &["no", "yes"], true),
        ("not: { header: { x-internal: { not: 'no' } } }", &["yes"], false),
        ("not: { header: { x-internal: { present: true } } }", &["no", "yes"], false),
        ("not: { not: { header: { x-internal: 'yes' } } }", &["no", "yes"], true),
    ] {
        assert_eq!(meets(matched, &lines(sent)), expected, "{matched}: {sent:?}");
    }
}

#[test]
fn the_most_expensive_reading_is_charged() {
    let rules = rules(
        "
rules:
  - name: api
    key: []
    limit: 1000/min
    cost: { '/files/cheap/**': 1, '/files/{name}': 7, '/files/{folder}/{name}': 3, /health: 1, '/**': 5 }
",
    );
    for (target, price) in [
        ("/files/a", 7),
        ("/files/a/b", 3),
        ("/files/a%2Fb", 7),
        ("/files/a%5Cb", 7),
        ("/files/cheap/x", 1),
        ("/files/cheap/..%2Fx", 7),
        ("/files/cheap%2F..%2Fx", 7),
        ("/health", 1),
        ("/health/..%2Fexpensive", 5),
        ("/x/..%2Fhealth", 5),
    ] {
        assert_eq!(get(target).price(&rules), price, "{target}");
    }
}

#[test]
fn a_reading_that_is_no_endpoint_costs_the_default() {
    for (cost, price) in [
        ("{ '/health/**': 1, default: 5 }", 5),
        ("{ '/health/**': 1, attribute: units }", 9),
        ("{ '/health/**': 7, default: 5 }", 7),
    ] {
        let rules =
            rules(&format!("rules: [{{ name: api, key: [], limit: 1000/min, cost: {cost} }}]"));
        let call = get("/health/..%2Fcheckout")
            .attribute("units", sluicegate_rules::AttributeValue::Whole(9));
        assert_eq!(call.price(&rules), price, "{cost}");
    }
}

#[test]
fn every_spelling_has_the_same_checks() {
    let text = "
rules:
  - { name: checkout, match: { method: POST, path: /checkout }, key: ip, limit: 3/min }
";
    let gate = crate::harness::TestLimiter::of(text);
    let spellings = [
        "/checkout",
        "/checkout/",
        "//checkout",
        "/./checkout",
        "/%63%68%65%63%6b%6f%75%74",
        "/checkout;jsessionid=1",
        "/a/b/../../checkout",
        "/..%2Fcheckout",
        "\\checkout",
        "http://host/checkout?x",
    ];
    let mut allowed = 0;
    for spelling in spellings {
        let call = Call::to("POST", spelling).peer("203.0.113.9");
        allowed += usize::from(gate.ask(&call).allowed);
    }
    assert_eq!(allowed, 3);
}
