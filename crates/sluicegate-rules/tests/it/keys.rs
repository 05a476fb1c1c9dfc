//! Tests of keys: different for different callers, the same on all nodes, and without secrets.

mod missing;
mod secret;

use std::collections::HashMap;

use sluicegate_rules::AttributeValue;

use crate::harness::{Call, rules};
use crate::random::Random;

const TWO: &str = "
identify:
  one: { header: x-one }
  two: { header: x-two }
rules:
  - { name: both, key: [one, two], limit: 5/min }
";

/// The value of a header, without surrounding blanks.
fn meant(value: &[u8]) -> Option<Vec<u8>> {
    let value = value.trim_ascii();
    (!value.is_empty()).then(|| value.to_vec())
}

#[test]
fn different_callers_have_different_keys() {
    let rules = rules(TWO);
    let mut random = Random::new(1);
    let mut seen = HashMap::new();
    for round in 0..4_000 {
        let lengths = if round % 50 == 0 { 600 } else { 5 };
        let [one, two] = [0, 1].map(|_| {
            let length = random.below(lengths);
            random.bytes(length)
        });
        let call = Call::new().header("x-one", &one).header("X-Two", &two);
        let keys = call.keys(&rules);
        let caller = (meant(&one), meant(&two));
        let known = seen.entry(keys[0].clone()).or_insert_with(|| caller.clone());
        assert_eq!(*known, caller, "two callers with the same key");
        assert_eq!(call.keys(&rules), keys, "two keys for the same caller");
    }
    assert!(seen.len() > 1_000, "{} callers", seen.len());
}

#[test]
fn key_parts_are_unambiguous() {
    let rules = rules(TWO);
    let key =
        |one: &str, two: &str| Call::new().header("x-one", one).header("x-two", two).keys(&rules);
    for ((a, b), (c, d)) in [
        (("a_b", "c"), ("a", "b_c")),
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), ("b", "a")),
        (("a:b", "c"), ("a", "b:c")),
        (("a|b", "c"), ("a", "b|c")),
        (("a\u{1}b", "c"), ("a", "b\u{1}c")),
        (("\u{1}\u{1}a", "\u{1}\u{1}"), ("\u{1}", "\u{1}a\u{1}\u{1}")),
    ] {
        assert_ne!(key(a, b), key(c, d), "{a} {b} and {c} {d}");
    }
}

#[test]
fn identities_in_another_order_make_another_key() {
    let turned = rules(&TWO.replace("[one, two]", "[two, one]"));
    let call = Call::new().header("x-one", "a").header("x-two", "b");
    assert_ne!(call.keys(&rules(TWO)), call.keys(&turned));
}

#[test]
fn rules_that_share_a_key_share_no_counter() {
    let text = "
rules:
  - { name: one, key: user, limit: 1/min }
  - { name: two, key: user, limit: 2/min }
";
    let gate = crate::harness::TestLimiter::of(text);
    let call = Call::new().text("user", "42");
    let answer = gate.admit(1, &call);
    assert_eq!((answer.left("one"), answer.left("two")), (Some(0), Some(1)));
}

#[test]
fn long_values_become_short_keys_and_stay_different() {
    let rules = rules(
        "rules: [{ name: api, key: user, limit: 5/min }]\nidentify: { user: { header: x-user } }",
    );
    let key = |value: &[u8]| Call::new().header("x-user", value).keys(&rules).remove(0);
    let long = vec![b'a'; 100_000];
    assert!(key(&long).len() < 64, "{} bytes", key(&long).len());
    let mut others = vec![key(&long), key(&long[1..]), key(&long[..257]), key(&long[..256])];
    let mut last = long.clone();
    *last.last_mut().unwrap() = b'b';
    others.push(key(&last));
    // A caller cannot get the key of a long value by sending its digest.
    others.push(key(&key(&long)[2..]));
    let count = others.len();
    others.sort();
    others.dedup();
    assert_eq!(others.len(), count);
}

#[test]
fn equal_callers_have_the_same_key_on_every_node() {
    let text = "
secret: 0123456789abcdef0123456789abcdef
identify:
  ip:       { trusted_proxies: [10.0.0.0/8] }
  user:     { header: x-user }
  api_key:  { header: x-api-key }
  session:  { cookie: sid }
  campaign: { query: utm }
  tenant:   { path: '/t/{tenant}/**' }
  browser:  { fingerprint: [user-agent, accept] }
rules:
  - { name: all, key: [ip, user, api_key], limit: 5/min }
  - { name: more, key: [session, campaign, tenant, browser], limit: 5/min }
";
    let call = Call::to("GET", "/t/acme/x?utm=autumn")
        .peer("10.1.2.3")
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-user", "42")
        .header("x-api-key", "k-1")
        .header("cookie", "a=b; sid=s-1")
        .header("user-agent", "curl");
    let (one, other) = (rules(text), rules(text));
    assert_eq!(call.keys(&one), call.keys(&other));
    // Another secret changes the keys of secret identities only.
    let elsewhere = rules(&text.replace("0123456789abcdef0", "fedcba9876543210f"));
    assert_ne!(call.keys(&one)[0], call.keys(&elsewhere)[0]);
    let plain = "rules: [{ name: all, key: user, limit: 5/min }]";
    let user = Call::new().text("user", "42");
    let secret = "\nsecret: 0123456789abcdef0123456789abcdef";
    assert_eq!(user.keys(&rules(plain)), user.keys(&rules(&format!("{plain}{secret}"))));
}

#[test]
fn a_caller_has_one_key_for_every_spelling_and_source() {
    let text = "
identify:
  user: { header: x-user }
  ip: ip
rules:
  - { name: user, key: user, limit: 5/min }
  - { name: ip, key: ip, limit: 5/min }
";
    let rules = rules(text);
    let answer = Call::new().text("user", "42").text("ip", "203.0.113.9").keys(&rules);
    for call in [
        Call::new().header("x-user", "42").peer("203.0.113.9"),
        Call::new().header("X-USER", "  42\t").peer("::ffff:203.0.113.9"),
        Call::new().attribute("user", AttributeValue::Whole(42)).text("ip", "::ffff:203.0.113.9"),
        Call::new().header("x-user", "42").header("x-user", "42").text("ip", "203.0.113.9:4711"),
    ] {
        assert_eq!(call.keys(&rules), answer, "{call:?}");
    }
}

#[test]
fn addresses_are_grouped_and_the_families_apart() {
    let rules = rules("rules: [{ name: ip, key: ip, limit: 5/min }]");
    let key = |peer: &str| Call::new().peer(peer).keys(&rules);
    assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
    assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
    assert_ne!(key("203.0.113.9"), key("203.0.113.8"));
    assert_ne!(key("::cb00:7109"), key("203.0.113.9"));
    // A text with the same bytes as an address is another caller.
    let text = "identify: { user: { header: x-user }, ip: ip }\nrules: [{ name: a, key: user, limit: 5/min }, { name: b, key: ip, limit: 5/min }]";
    let both = crate::harness::rules(text);
    let keys = Call::new().peer("97.98.99.100").header("x-user", "abcd").keys(&both);
    assert_ne!(keys[0], keys[1]);
}
