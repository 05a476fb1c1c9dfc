//! What is secret is in no key, no slot and no explanation.

use tollgate_rules::{Directory, RuleSet};

use crate::gate::{Call, Gate, NOVEMBER, rules};

const SECRET: &str = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";

const TEXT: &str = "
secret: 0123456789abcdef0123456789abcdef
identify:
  named:    { header: x-secret-thing, secret: true }
  api_key:  { header: x-api-key }
  auth:     { header: authorization }
  session:  { cookie: sid }
  told:     { attribute: token, secret: true }
  asked:    { query: key, secret: true }
  part:     { segment: 1, secret: true }
  browser:  { fingerprint: [user-agent] }
rules:
  - { name: a, key: [named, api_key, auth], limit: 5/min }
  - { name: b, key: [session, told, asked], limit: 5/min }
  - { name: c, key: [part, browser], limit: { concurrent: 5 } }
";

fn call() -> Call {
    Call::to("GET", format!("/{SECRET}?key={SECRET}"))
        .header("x-secret-thing", SECRET)
        .header("x-api-key", SECRET)
        .header("authorization", SECRET)
        .header("cookie", format!("sid={SECRET}"))
        .header("user-agent", SECRET)
        .told("token", SECRET)
}

/// Whether any part of the secret that would help somebody is there.
fn shows(bytes: &[u8]) -> bool {
    let parts = SECRET.as_bytes().windows(6);
    parts.clone().any(|part| bytes.windows(6).any(|found| found == part)) || {
        // Slots are written in hexadecimal digits.
        let digit = |letter: &u8| char::from(*letter).to_digit(16);
        let pairs =
            bytes.chunks_exact(2).map(|pair| Some(digit(&pair[0])? * 16 + digit(&pair[1])?));
        let read: Vec<u32> = pairs.map(Option::unwrap_or_default).collect();
        let mut parts = parts.map(|part| part.iter().map(|byte| u32::from(*byte)));
        parts.any(|part| read.windows(6).any(|found| part.clone().eq(found.iter().copied())))
    }
}

#[test]
fn no_key_has_a_secret_in_it() {
    assert!(shows(SECRET.as_bytes()) && shows(format!("x{}", &SECRET[3..]).as_bytes()));
    for text in [TEXT.to_owned(), TEXT.replace("secret: 0123456789abcdef0123456789abcdef", "")] {
        let keys = call().keys(&rules(&text));
        assert_eq!(keys.len(), 3);
        for key in keys {
            assert!(!shows(&key), "{key:?}");
        }
    }
}

#[test]
fn no_slot_and_no_explanation_has_a_secret_in_it() {
    let told = Gate::of(TEXT).admit(1, &call());
    let slot = told.slot.unwrap();
    assert!(!shows(slot.as_bytes()));
    let rules: RuleSet =
        rules(&TEXT.replace("part:     { segment: 1, secret: true }", "part: { segment: 2 }"));
    // The path is shown as it is; all else that is secret is masked.
    let call = call();
    let call = Call::to("GET", format!("/x?key={SECRET}")).merged(call);
    let explained = rules.explain(&Directory::new(), &call.request(), NOVEMBER).to_string();
    assert!(!shows(explained.as_bytes()), "{explained}");
    assert!(explained.contains("a: applies"), "{explained}");
}

#[test]
fn secrets_are_told_apart_and_domains_too() {
    let rules = rules(
        "
identify:
  one: { header: x-one, secret: true }
  two: { header: x-two, secret: true }
  long: { header: x-long }
rules:
  - { name: one, key: one, limit: 5/min }
  - { name: two, key: two, limit: 5/min }
  - { name: long, key: long, limit: 5/min }
",
    );
    let long = "x".repeat(1_000);
    let keys = Call::new()
        .header("x-one", &long)
        .header("x-two", "b")
        .header("x-long", &long)
        .keys(&rules);
    assert_ne!(keys[0], keys[1]);
    assert_ne!(keys[0], keys[2], "a secret is digested in another way than a long value");
}
