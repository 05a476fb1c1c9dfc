//! Tests of `match`, with a table for each field.

mod doubtful;
mod times;

use sluicegate_rules::AttributeValue;

use crate::harness::{Call, NOVEMBER, rules};

/// Whether a rule with this `match` applies to a call.
pub(crate) fn meets(matched: &str, call: &Call) -> bool {
    let text = format!(
        "
identify:
  user: {{ header: x-user }}
  ip: {{ trusted_proxies: [10.0.0.0/8] }}
  tier: {{ header: x-tier, default: free }}
tiers: {{ free: {{ api: 5/min }}, gold: {{ api: 50/min }} }}
rules: [{{ name: rule, key: [], limit: 5/min, match: {{ {matched} }} }}]
"
    );
    !call.met(&rules(&text), NOVEMBER).is_empty()
}

fn table(rows: &[(&str, Call, bool)]) {
    for (matched, call, expected) in rows {
        assert_eq!(meets(matched, call), *expected, "{matched}: {call:?}");
        // Without ambiguity, `not` excludes exactly the requests that would match.
        let left_out = !meets(&format!("not: {{ {matched} }}"), call);
        let doubtful = *expected && call.has_several_readings();
        assert!(left_out == *expected || doubtful, "not {matched}: {call:?}");
    }
}

fn get(target: &str) -> Call {
    Call::to("GET", target)
}

#[test]
fn methods() {
    table(&[
        ("method: GET", get("/"), true),
        ("method: get", get("/"), true),
        ("method: POST", get("/"), false),
        ("method: [POST, GET]", get("/"), true),
        ("method: GET", Call::to("get", "/"), true),
        ("method: GET", Call::new(), false),
        ("method: GET", Call::new().text("method", "GET"), true),
        ("method: GET", Call::new().text("method", "POST"), false),
        // An attribute does not override a field of the transport.
        ("method: POST", get("/").text("method", "POST"), false),
        ("method: PURGE", Call::to("PURGE", "/"), true),
    ]);
}

#[test]
fn hosts() {
    let to = |host| get("/").host(host);
    table(&[
        ("host: api.example.com", to("api.example.com"), true),
        ("host: api.example.com", to("API.Example.com:443"), true),
        ("host: api.example.com", to("api.example.com."), true),
        ("host: api.example.com", to("example.com"), false),
        ("host: api.example.com", to("api.example.com.evil.org"), false),
        ("host: '*.example.com'", to("a.example.com"), true),
        ("host: '*.example.com'", to("a.b.example.com"), true),
        ("host: '*.example.com'", to("example.com"), false),
        ("host: '*.example.com'", to("badexample.com"), false),
        ("host: [a.org, '*.b.org']", to("x.b.org"), true),
        ("host: api.example.com", Call::new(), false),
        ("host: api.example.com", Call::new().text("host", "api.example.com"), true),
        ("host: api.example.com", get("/").header("Host", "api.example.com"), true),
        ("host: '*.example.com'", to("[::1]:80"), false),
        // A host in the target takes precedence over `Host`.
        ("host: api.example.com", get("http://api.example.com/x"), true),
        ("host: api.example.com", get("HTTPS://API.example.com.:443?x"), true),
        ("host: api.example.com", get("http://api.example.com/x").host("other.org"), true),
        (
            "host: api.example.com",
            get("http://api.example.com/x").header("host", "other.org").text("host", "other.org"),
            true,
        ),
        ("host: api.example.com", get("http://other.org/x").host("api.example.com"), false),
        ("host: api.example.com", get("http://other.org/http://api.example.com/"), false),
        ("host: api.example.com", get("/http://other.org/").host("api.example.com"), true),
        ("host: api.example.com", get("//other.org/").host("api.example.com"), true),
    ]);
}

#[test]
fn paths() {
    table(&[
        ("path: /checkout", get("/checkout"), true),
        ("path: /checkout", get("/checkout/"), true),
        ("path: /checkout/", get("/checkout"), true),
        ("path: /checkout", get("/checkout?x=1"), true),
        ("path: /checkout", get("/checkout#x"), true),
        ("path: /checkout", get("//checkout"), true),
        ("path: /checkout", get("/x/../checkout"), true),
        ("path: /checkout", get("/%63heckout"), true),
        ("path: /checkout", get("/checkout;session=1"), true),
        ("path: /checkout", get("\\checkout"), true),
        ("path: /checkout", get("http://example.com/checkout"), true),
        ("path: /checkout", get("/Checkout"), false),
        ("path: /checkout", get("/checkouts"), false),
        ("path: /checkout", get("/checkout/1"), false),
        ("path: /checkout", get("/%2563heckout"), false),
        ("path: '/users/{id}'", get("/users/42"), true),
        ("path: '/users/{id}'", get("/users"), false),
        ("path: '/users/{id}'", get("/users/42/orders"), false),
        ("path: '/users/*/orders'", get("/users/42/orders"), true),
        ("path: '/reports/**'", get("/reports"), true),
        ("path: '/reports/**'", get("/reports/2026/11"), true),
        ("path: '/reports/**'", get("/report"), false),
        ("path: '/a/**/z'", get("/a/z"), true),
        ("path: '/a/**/z'", get("/a/b/c/z"), true),
        ("path: '/files/*.pdf'", get("/files/x.pdf"), true),
        ("path: '/files/*.pdf'", get("/files/x.txt"), false),
        ("path: [/a, /b]", get("/b"), true),
        ("path: '/**'", get("/"), true),
        ("path: /checkout", Call::new(), false),
        ("path: /checkout", Call::new().text("path", "/checkout"), true),
        ("path: /checkout", Call::new().text("path", "/x/..//%63heckout?a=b"), true),
    ]);
}

#[test]
fn headers() {
    let agent = |value: &str| get("/").header("User-Agent", value);
    table(&[
        ("header: { user-agent: curl }", agent("curl"), true),
        ("header: { User-Agent: curl }", agent(" curl "), true),
        ("header: { user-agent: curl }", agent("curl/8"), false),
        ("header: { user-agent: '*bot*' }", agent("Googlebot/2.1"), true),
        ("header: { user-agent: ['*bot*', curl] }", agent("curl"), true),
        ("header: { user-agent: curl }", get("/"), false),
        ("header: { user-agent: { not: curl } }", agent("wget"), true),
        ("header: { user-agent: { not: curl } }", agent("curl"), false),
        ("header: { user-agent: { not: curl } }", get("/"), true),
        ("header: { user-agent: { present: true } }", agent(""), true),
        ("header: { user-agent: { present: true } }", get("/"), false),
        ("header: { user-agent: { present: false } }", get("/"), true),
        ("header: { user-agent: { any_of: [a, b] } }", agent("b"), true),
        (
            "header: { accept: { not: c } }",
            get("/").header("accept", "a").header("accept", "b"),
            true,
        ),
        ("header: { x-size: '> 100' }", get("/").header("x-size", "101"), true),
        ("header: { x-size: '> 100' }", get("/").header("x-size", "100"), false),
        ("header: { x-size: '> 100' }", get("/").header("x-size", "many"), false),
        ("header: { a: x, b: y }", get("/").header("a", "x").header("b", "y"), true),
        ("header: { a: x, b: y }", get("/").header("a", "x"), false),
        ("header: { a: '*' }", get("/").header("a", b"\xff\xfe"), true),
    ]);
}

#[test]
fn attributes() {
    let with = |value| Call::new().attribute("age", value);
    table(&[
        ("attribute: { age: '< 30' }", with(AttributeValue::Whole(29)), true),
        ("attribute: { age: '< 30' }", with(AttributeValue::Whole(30)), false),
        ("attribute: { age: '<= 30' }", with(AttributeValue::Whole(30)), true),
        ("attribute: { age: '>= 30' }", with(AttributeValue::Real(30.0)), true),
        ("attribute: { age: '> 30' }", with(AttributeValue::Real(30.5)), true),
        ("attribute: { age: '> 30' }", with(AttributeValue::Text("31")), true),
        ("attribute: { age: '> 30' }", with(AttributeValue::Text("old")), false),
        ("attribute: { age: '> 30' }", with(AttributeValue::Real(f64::NAN)), false),
        ("attribute: { age: '> 30' }", with(AttributeValue::Real(f64::INFINITY)), false),
        ("attribute: { age: '< 30' }", with(AttributeValue::Flag(true)), false),
        ("attribute: { age: '> -1' }", with(AttributeValue::Whole(0)), true),
        (
            "attribute: { age: '> 9007199254740992' }",
            with(AttributeValue::Whole(9_007_199_254_740_993)),
            true,
        ),
        ("attribute: { age: 30 }", with(AttributeValue::Whole(30)), true),
        ("attribute: { age: 30 }", with(AttributeValue::Text("30")), true),
        ("attribute: { age: true }", with(AttributeValue::Flag(true)), true),
        ("attribute: { age: true }", with(AttributeValue::Text("true")), true),
        ("attribute: { age: true }", with(AttributeValue::Flag(false)), false),
        ("attribute: { age: ['< 10', '> 20'] }", with(AttributeValue::Whole(25)), true),
        ("attribute: { age: ['< 10', '> 20'] }", with(AttributeValue::Whole(15)), false),
        ("attribute: { age: '< 30' }", Call::new(), false),
        ("attribute: { age: { not: '< 30' } }", Call::new(), true),
        ("attribute: { age: { present: false } }", Call::new(), true),
        ("attribute: { age: { present: false } }", with(AttributeValue::Text("")), false),
        ("attribute: { Age: 30 }", with(AttributeValue::Whole(30)), false),
    ]);
}

#[test]
fn identities_tiers_and_addresses() {
    let user = |name: &str| get("/").header("x-user", name);
    let from = |peer: &str| get("/").peer(peer);
    table(&[
        ("identity: { user: u-1 }", user("u-1"), true),
        ("identity: { user: 'u-*' }", user("u-2"), true),
        ("identity: { user: u-1 }", user("u-2"), false),
        ("identity: { user: u-1 }", Call::new().text("user", "u-1"), true),
        ("identity: { user: { present: true } }", user(""), false),
        (
            "identity: { user: { present: false } }",
            get("/").header("x-user", "a").header("x-user", "b"),
            true,
        ),
        ("identity: { ip: 203.0.113.9 }", from("203.0.113.9"), true),
        ("tier: gold", get("/").header("x-tier", "gold"), true),
        ("tier: gold", get("/").header("x-tier", "silver"), false),
        ("tier: free", get("/").header("x-tier", "silver"), true),
        ("tier: free", get("/"), true),
        ("tier: [free, gold]", get("/"), true),
        ("tier: gold", Call::new().text("tier", "gold"), true),
        ("ip: 203.0.113.0/24", from("203.0.113.9"), true),
        ("ip: 203.0.113.0/24", from("203.0.114.9"), false),
        ("ip: 203.0.113.0/24", from("::ffff:203.0.113.9"), true),
        ("ip: '2001:db8::/32'", from("2001:db8::1"), true),
        ("ip: [192.0.2.1, 203.0.113.0/24]", from("192.0.2.1"), true),
        ("ip: 203.0.113.0/24", Call::new(), false),
        ("ip: 203.0.113.0/24", Call::new().text("ip", "203.0.113.9"), true),
        // Only a trusted proxy may report the address.
        ("ip: 203.0.113.0/24", from("10.0.0.1").header("x-forwarded-for", "203.0.113.9"), true),
        (
            "ip: 203.0.113.0/24",
            from("198.51.100.1").header("x-forwarded-for", "203.0.113.9"),
            false,
        ),
        (
            "ip: 203.0.113.0/24",
            from("10.0.0.1").header("x-forwarded-for", "203.0.113.9, 198.51.100.1"),
            false,
        ),
    ]);
}

#[test]
fn conditions_compare_long_identities() {
    for length in [256, 257, 100_000] {
        let long = "a".repeat(length);
        let call = get("/").header("x-user", &long);
        let same = format!("identity: {{ user: {long} }}");
        table(&[
            ("identity: { user: { present: true } }", call.clone(), true),
            ("identity: { user: { present: false } }", call.clone(), false),
            ("identity: { user: { not: b } }", call.clone(), true),
            ("identity: { user: b }", call.clone(), false),
            ("identity: { user: 'a*' }", call.clone(), true),
            ("identity: { user: 'b*' }", call.clone(), false),
            ("identity: { user: '> 1' }", call.clone(), false),
            (&same, call.clone(), true),
            (&same, get("/").header("x-user", format!("{long}a")), false),
        ]);
    }
}

#[test]
fn all_conditions_must_match_and_none_of_not() {
    let post = |target: &str| Call::to("POST", target);
    let both = "method: POST, path: '/orders/**'";
    table(&[
        (both, post("/orders/1"), true),
        (both, get("/orders/1"), false),
        (both, post("/other"), false),
    ]);
    for (matched, call, expected) in [
        ("path: '/**', not: { path: '/health/**' }", get("/orders"), true),
        ("path: '/**', not: { path: '/health/**' }", get("/health"), false),
        ("not: [{ path: /a }, { path: /b }]", get("/b"), false),
        ("not: [{ path: /a }, { path: /b }]", get("/c"), true),
        ("not: { path: /a, method: POST }", get("/a"), true),
        ("not: { path: /a, method: POST }", post("/a"), false),
        // Nested `not`.
        ("not: { not: { path: /a } }", get("/a"), true),
        ("not: { not: { path: /a } }", get("/b"), false),
        ("not: { attribute: { internal: true } }", get("/"), true),
        (
            "not: { attribute: { internal: true } }",
            get("/").attribute("internal", AttributeValue::Flag(true)),
            false,
        ),
    ] {
        assert_eq!(meets(matched, &call), expected, "{matched}: {call:?}");
    }
}

#[test]
fn case_is_ignored_if_configured() {
    let text = "
paths: { ignore_case: true }
rules: [{ name: rule, key: [], limit: 5/min, match: { path: ['/Check/{Id}', /%41bc] }, cost: { 'GET /check/{id}': 3 } }]
";
    let text = text.replace("/%41bc", "/ABC");
    let rules = rules(&text);
    for target in ["/check/1", "/CHECK/x", "/%43heck/Y", "/abc", "/AbC/"] {
        assert_eq!(get(target).met(&rules, NOVEMBER), ["rule"], "{target}");
    }
    assert_eq!(get("/CHECK/x").price(&rules), 3);
}

#[test]
fn a_rule_among_hundreds_is_found_at_any_position() {
    let mut text = String::from("rules:\n");
    for number in 0..500 {
        let matched = match number % 5 {
            0 => format!("path: '/r{number}/**'"),
            1 => format!("path: '/*/r{number}'"),
            2 => format!("attribute: {{ plan: p{number} }}"),
            3 => format!("header: {{ x-plan: p{number} }}"),
            _ => format!("method: GET, path: ['/a/{{id}}/r{number}', '/b/r{number}']"),
        };
        let rule = format!("name: r{number}, key: [], limit: 5/min, match: {{ {matched} }}");
        text = text + "  - { " + &rule + " }\n";
    }
    let rules = rules(&text);
    for (call, expected) in [
        (get("/r5/x"), vec!["r5"]),
        (get("/x/r6"), vec!["r6"]),
        (get("/").text("plan", "p7"), vec!["r7"]),
        (get("/").header("x-plan", "p8"), vec!["r8"]),
        (get("/b/r9"), vec!["r9"]),
        (get("/r5/r6").text("plan", "p7").header("x-plan", "p8"), vec!["r5", "r6", "r7", "r8"]),
        (get("/r495%2Fx/..%2fr496"), vec!["r495", "r496"]),
        (get("/none"), vec![]),
    ] {
        assert_eq!(call.met(&rules, NOVEMBER), expected, "{call:?}");
    }
}
