//! Tests that secrets appear in no key, no slot and no explanation.

use std::path::Path;

use sluicegate_rules::{Directory, InMemoryFiles, RuleFile, RuleSet};

use crate::harness::{Call, NOVEMBER, TestLimiter, rules};

const SECRET: &str = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";

const TEXT: &str = "
secret: 0123456789abcdef0123456789abcdef
identify:
  named:    { header: x-secret-thing, secret: true }
  api_key:  { header: x-api-key }
  auth:     { header: authorization }
  session:  { cookie: sid }
  given:    { attribute: token, secret: true }
  asked:    { query: key, secret: true }
  part:     { segment: 1, secret: true }
  browser:  { fingerprint: [user-agent] }
rules:
  - { name: a, key: [named, api_key, auth], limit: 5/min }
  - { name: b, key: [session, given, asked], limit: 5/min }
  - { name: c, key: [part, browser], limit: { concurrent: 5 } }
";

fn call() -> Call {
    Call::to("GET", format!("/{SECRET}?key={SECRET}"))
        .header("x-secret-thing", SECRET)
        .header("x-api-key", SECRET)
        .header("authorization", SECRET)
        .header("cookie", format!("sid={SECRET}"))
        .header("user-agent", SECRET)
        .text("token", SECRET)
}

/// Whether a text contains a telling part of the secret.
fn shows(bytes: &[u8]) -> bool {
    let parts = SECRET.as_bytes().windows(6);
    parts.clone().any(|part| bytes.windows(6).any(|found| found == part)) || {
        // Slots are hexadecimal.
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
    let answer = TestLimiter::of(TEXT).admit(1, &call());
    let slot = answer.slot.unwrap();
    assert!(!shows(slot.as_bytes()));
    let rules: RuleSet =
        rules(&TEXT.replace("part:     { segment: 1, secret: true }", "part: { segment: 2 }"));
    // The path is shown unchanged; all other secrets are masked.
    let call = call();
    let call = Call::to("GET", format!("/x?key={SECRET}")).merged(call);
    let explained = rules.explain(&Directory::new(), &call.request(), NOVEMBER).to_string();
    assert!(!shows(explained.as_bytes()), "{explained}");
    assert!(explained.contains("a: applies"), "{explained}");
}

#[test]
fn different_secrets_and_domains_have_different_digests() {
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

fn explained(rules: &RuleSet, call: &Call) -> String {
    rules.explain(&Directory::new(), &call.request(), NOVEMBER).to_string()
}

#[test]
fn a_secret_name_makes_every_possible_source_secret() {
    for identity in [
        "token: { path: '/hooks/{id}' }",
        "hook: { path: '/hooks/{token}' }",
        "token: { segment: 2 }",
        "api_key: { query: k }",
        "k: { query: api_key }",
        "api_key: { attribute: k }",
        "api_key: { header: x-k }",
        "token: { jwt: { claim: sub, unverified: true } }",
    ] {
        let name = identity.split(':').next().unwrap();
        let text = format!(
            "identify: {{ {identity} }}\nrules: [{{ name: a, key: {name}, limit: 5/min }}, {{ name: b, key: [], limit: 5/min, match: {{ path: /other }} }}]"
        );
        let claims =
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJza19saXZlXzRlQzM5SHFMeWpXRGFyanRUMXpkcDdkYyJ9.x";
        let call = Call::to("GET", format!("/hooks/{SECRET}?k={SECRET}&api_key={SECRET}"))
            .header("x-k", SECRET)
            .header("authorization", format!("Bearer {claims}"))
            .text("k", SECRET);
        let call = if identity.contains("/hooks") || identity.contains("segment") {
            call
        } else {
            Call::to("GET", format!("/x?k={SECRET}&api_key={SECRET}")).merged(call)
        };
        let rules = rules(&text);
        let (keys, explained) = (call.keys(&rules), explained(&rules, &call));
        assert!(!shows(&keys[0]), "{identity}: {:?}", keys[0]);
        assert!(!shows(explained.as_bytes()), "{identity}: {explained}");
        assert!(explained.contains("(a digest)"), "{identity}: {explained}");
    }
    // Identities that are not credentials stay readable, and so do those marked as not secret.
    for identity in ["key: ip", "key: { path: '/{key}/**', secret: false }"] {
        let text =
            format!("identify: {{ {identity} }}\nrules: [{{ name: a, key: key, limit: 5/min }}]");
        let call = Call::to("GET", "/203.0.113.9/x").peer("203.0.113.9");
        let explained = explained(&rules(&text), &call);
        assert!(explained.contains("key = 203.0.113.9"), "{explained}");
    }
}

#[test]
fn the_raw_path_is_not_shown_if_it_contains_a_secret() {
    let rules = rules(
        "identify: { token: { path: '/hooks/{token}/**' } }\nrules: [{ name: a, key: token, limit: 5/min }]",
    );
    let call = Call::to("GET", format!("//hooks/{SECRET}/x;v=1"));
    let explained = explained(&rules, &call);
    assert!(!shows(explained.as_bytes()), "{explained}");
    assert!(explained.contains("GET /hooks/…/x\n"), "{explained}");
}

#[test]
fn conditions_show_neither_variables_nor_secrets() {
    let conditions = [
        ("header: { x-origin: '${HIDDEN}' }", "the header `x-origin` is not `${HIDDEN}`"),
        ("attribute: { origin: '*${HIDDEN}' }", "the attribute `origin` is not `*${HIDDEN}`"),
        ("identity: { user: ['${HIDDEN}', b] }", "is not `${HIDDEN}` or `b`"),
        (
            "header: { authorization: SECRET }",
            "the header `authorization` is not the expected value",
        ),
        (
            "attribute: { api_key: [SECRET, x] }",
            "the attribute `api_key` is not the expected value",
        ),
        ("attribute: { api_key: { present: true } }", "the attribute `api_key` is not present"),
    ];
    for (matched, shown) in conditions {
        let matched = matched.replace("SECRET", SECRET);
        let text = format!("rules: [{{ name: a, key: [], limit: 5/min, match: {{ {matched} }} }}]");
        let shelf = InMemoryFiles::new().with("rules.yaml", text);
        let variable = |name: &str| (name == "HIDDEN").then(|| SECRET.to_owned());
        let file = RuleFile::load_with(Path::new("rules.yaml"), &shelf, &variable).unwrap();
        let rules = file.rules.unwrap();
        let explained = explained(&rules, &Call::to("GET", "/"));
        assert!(explained.contains(shown), "{explained}");
        assert!(!shows(explained.as_bytes()), "{explained}");
        assert!(!shows(format!("{rules:?}").as_bytes()), "{matched}");
    }
    // Hidden conditions are still compared.
    let text = format!(
        "rules: [{{ name: a, key: [], limit: 5/min, match: {{ header: {{ authorization: {SECRET} }} }} }}]"
    );
    let call = Call::to("GET", "/").header("authorization", SECRET);
    assert_eq!(call.met(&rules(&text), NOVEMBER), ["a"]);
    assert!(
        Call::to("GET", "/").header("authorization", "x").met(&rules(&text), NOVEMBER).is_empty()
    );
}

#[test]
fn no_explanation_shows_a_host_or_a_path_from_the_environment() {
    for matched in ["path: ['/${HIDDEN}', /b]", "host: '${HIDDEN}'"] {
        let text = format!("rules: [{{ name: a, key: [], limit: 5/min, match: {{ {matched} }} }}]");
        let shelf = InMemoryFiles::new().with("rules.yaml", text);
        let variable = |name: &str| (name == "HIDDEN").then(|| SECRET.replace('_', "-"));
        let file = RuleFile::load_with(Path::new("rules.yaml"), &shelf, &variable).unwrap();
        let rules = file.rules.unwrap_or_else(|| panic!("{}", file.report));
        let call = Call::to("GET", "/").host("example.com");
        let explained = explained(&rules, &call);
        assert!(explained.contains("the rule requires one from the environment"), "{explained}");
        assert!(!shows(explained.as_bytes()), "{explained}");
    }
}

#[test]
fn a_table_with_mistakes_shows_no_secret_caller() {
    for (file, table) in [
        ("t.csv", format!("{SECRET},gold\n{SECRET},free\n")),
        ("t.csv", format!("{SECRET},golden\n")),
        ("t.csv", format!("{SECRET}\n")),
        ("t.yaml", format!("{SECRET}: golden\n")),
        ("t.yaml", format!("{SECRET}: [gold]\n")),
    ] {
        let text = format!(
            "identify: {{ api_key: {{ header: x-api-key }}, tier: {{ lookup: api_key, table: {file}, default: free }} }}\ntiers: {{ free: {{ api: 5/min }}, gold: {{ api: 50/min }} }}\nrules: [{{ name: a, key: api_key, limit: {{ tier: api }} }}]"
        );
        let shelf = InMemoryFiles::new().with("rules.yaml", text).with(file, table.clone());
        let file = RuleFile::load_with(Path::new("rules.yaml"), &shelf, &|_| None).unwrap();
        let report = file.report.render(false);
        assert!(file.report.has_errors(), "{table}");
        assert!(!shows(report.as_bytes()), "{report}");
    }
}
