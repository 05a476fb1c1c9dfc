//! Tests that repeated values evade no block, price or condition.

use crate::harness::{Call, PlanResult, TestLimiter, rules};
use crate::matching::meets;

const RULES: &str = "
identify:
  user: { header: x-user, secret: false }
  session: { cookie: sid }
  key: { query: api_key }
  subject: { jwt: { claim: sub, unverified: true } }
rules:
  - { name: all, key: [], limit: 1000/min }
block: [{ user: mallory }, { session: s-bad }, { key: k-bad }, { subject: mallory }]
allow: [{ user: admin }, { session: s-good }]
";

fn call() -> Call {
    Call::to("GET", "/")
}

#[test]
fn a_blocked_value_blocks_wherever_it_is_repeated() {
    let gate = TestLimiter::of(RULES);
    let header =
        |lines: &[&str]| lines.iter().fold(call(), |call, line| call.header("x-user", line));
    let cookie =
        |lines: &[&str]| lines.iter().fold(call(), |call, line| call.header("Cookie", line));
    let bearer = |payloads: &[&str]| {
        payloads.iter().fold(call(), |call, payload| {
            call.header("authorization", format!("Bearer eyJhbGciOiJIUzI1NiJ9.{payload}.c2ln"))
        })
    };
    // The claims `sub: mallory` and `sub: bob`.
    let (mallory, bob) = ("eyJzdWIiOiJtYWxsb3J5In0", "eyJzdWIiOiJib2IifQ");
    for blocked in [
        bearer(&[mallory]),
        bearer(&[mallory, bob]),
        bearer(&[bob, mallory]),
        bearer(&["not-a-payload", mallory]),
        bearer(&[[bob; 20].as_slice(), &[mallory]].concat()),
        header(&["mallory"]),
        header(&["mallory", "bob"]),
        header(&["bob", "mallory"]),
        header(&["bob", " mallory ", "bob"]),
        header(&["", "mallory"]),
        header(&["mallory", ""]),
        header(&["admin", "mallory"]),
        header(&["mallory, bob"]),
        header(&["bob,mallory"]),
        call().header("x-user", "bob").header("X-USER", "mallory"),
        cookie(&["sid=s-bad"]),
        cookie(&["sid=s-bad; sid=x"]),
        cookie(&["sid=x; a=b; sid=\"s-bad\""]),
        cookie(&["sid=x", "sid=s-bad"]),
        cookie(&["sid=s-good; sid=s-bad"]),
        Call::to("GET", "/?api_key=k-bad"),
        Call::to("GET", "/?api_key=k-bad&api_key=x"),
        Call::to("GET", "/?api_key=x&a=b&api%5fkey=k%2Dbad"),
        Call::to("GET", "/?api_key=k-bad%00"),
        // Another identity is on the allow-list.
        Call::to("GET", "/?api_key=x&api_key=k-bad").header("x-user", "admin"),
    ] {
        assert_eq!(gate.ask(&blocked).outcome, PlanResult::Blocked, "{blocked:?}");
    }
    for free in [header(&["admin"]), header(&["admin", "admin"]), cookie(&["sid=s-good"])] {
        assert_eq!(gate.ask(&free).outcome, PlanResult::Free, "{free:?}");
    }
    for asked in [
        bearer(&[bob]),
        bearer(&[bob, "not-a-payload"]),
        header(&["bob", "alice"]),
        header(&["admin", "bob"]),
        header(&["admin, bob"]),
        cookie(&["sid=s-good; sid=x"]),
        cookie(&["user=mallory"]),
        Call::to("GET", "/?user=mallory"),
        // An attribute identifies the caller.
        header(&["mallory"]).text("user", "bob"),
    ] {
        assert_eq!(gate.ask(&asked).outcome, PlanResult::Asked, "{asked:?}");
    }
}

#[test]
fn a_condition_on_an_identity_checks_every_value() {
    let header =
        |lines: &[&str]| lines.iter().fold(call(), |call, line| call.header("x-user", line));
    for (matched, sent, expected) in [
        ("identity: { user: mallory }", &["mallory"][..], true),
        ("identity: { user: mallory }", &["bob", "mallory"], true),
        ("identity: { user: mallory }", &["bob", "alice"], false),
        ("identity: { user: mallory }", &[], false),
        ("identity: { user: { not: admin } }", &["admin", "bob"], true),
        ("identity: { user: { not: admin } }", &["admin", "admin"], false),
        ("not: { identity: { user: admin } }", &["admin", "bob"], true),
        ("not: { identity: { user: admin } }", &["admin"], false),
        ("not: { identity: { user: { not: mallory } } }", &["bob", "mallory"], true),
        ("not: { identity: { user: { not: mallory } } }", &["bob", "alice"], false),
        ("not: { identity: { user: admin } }", &[""], true),
    ] {
        assert_eq!(meets(matched, &header(sent)), expected, "{matched} {sent:?}");
    }
}

#[test]
fn a_repeated_price_counts_as_the_largest() {
    let of = |cost: &str| {
        rules(&format!("rules: [{{ name: a, key: [], limit: 100/min, cost: {cost} }}]"))
    };
    let by_header = of("{ header: x-units }");
    let units = |lines: &[&str]| {
        let call = lines.iter().fold(call(), |call, line| call.header("x-units", line));
        call.price(&by_header)
    };
    assert_eq!(units(&["7"]), 7);
    assert_eq!(units(&["7", "8"]), 8);
    assert_eq!(units(&["9", "x", "1"]), 9);
    assert_eq!(units(&["x"]), 1);
    let by_body = of("{ body: 1 per 1KiB }");
    let sized = |lines: &[&str]| {
        let post = Call::to("POST", "/");
        let call = lines.iter().fold(post, |call, line| call.header("content-length", line));
        call.price(&by_body)
    };
    assert_eq!((sized(&["4096"]), sized(&["4096", "1"])), (4, 4));
}

#[test]
fn the_explanation_reports_several_values() {
    use sluicegate_rules::Directory;

    let rules = rules(RULES);
    let doubled = call().header("x-user", "bob").header("x-user", "mallory");
    let directory = Directory::new();
    let explained =
        rules.explain(&directory, &doubled.request(), crate::harness::NOVEMBER).to_string();
    assert!(explained.contains("user = missing: the request carries 2 values"), "{explained}");
    assert!(explained.contains("the caller is on the block-list"), "{explained}");
}
