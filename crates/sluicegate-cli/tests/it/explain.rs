//! `sluicegate explain`.

use super::program::{Folder, run};

const RULES: &str = "
identify:
  ip:      { trusted_proxies: [10.0.0.0/8] }
  user:    { header: x-user-id }
  api_key: { header: x-api-key, secret: true }
rules:
  - { name: checkout, match: { method: POST, path: /checkout }, key: user, limit: 5/min }
  - { name: partners, match: { host: api.example.com }, key: api_key, limit: 10/s }
  - { name: young, match: { attribute: { account_age_days: '< 30' } }, key: ip, limit: 1/s }
  - { name: night, match: { time: { from: '22:00', to: '06:00' } }, key: ip, limit: 2/s }
  - { name: upload, key: ip, limit: 1000/min, cost: { body: 1 per 1KiB } }
";

fn explained(arguments: &[&str]) -> String {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", RULES);
    let (code, out, error) = run(&[&["explain", path.as_str()], arguments].concat());
    assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
    out
}

#[test]
fn explains_each_rule() {
    let checkout = ["--method", "POST", "--path", "/checkout?x=1", "-H", "X-User-Id: 42"];
    let out = explained(&checkout);
    assert!(out.contains("POST /checkout"), "{out}");
    assert!(out.contains("user = 42"), "{out}");
    assert!(out.contains("+ checkout: applies"), "{out}");
    assert!(out.contains("1 of 5/min"), "{out}");
    assert!(out.contains("- partners: does not apply: the host is unknown"), "{out}");
    let out = explained(&["--method", "GET", "--path", "/checkout"]);
    assert!(out.contains("- checkout: does not apply: the method is GET"), "{out}");
}

#[test]
fn masks_secrets() {
    let key = ["--host", "api.example.com", "-H", "x-api-key: topsecret"];
    let out = explained(&key);
    assert!(out.contains("+ partners: applies"), "{out}");
    assert!(out.contains("(a digest)"), "{out}");
    assert!(!out.contains("topsecret"), "{out}");
}

#[test]
fn trusts_forwarded_addresses_only_of_proxies() {
    assert!(explained(&["--ip", "203.0.113.9"]).contains("ip = 203.0.113.9"));
    let forwarded = "X-Forwarded-For: 198.51.100.7";
    let out = explained(&["--ip", "10.0.0.1", "-H", forwarded]);
    assert!(out.contains("ip = 198.51.100.7"), "{out}");
    let out = explained(&["--ip", "203.0.113.9", "-H", forwarded]);
    assert!(out.contains("ip = 203.0.113.9"), "not a trusted proxy: {out}");
}

#[test]
fn compares_numeric_attributes_as_numbers() {
    let young = |age: &str| explained(&["--attribute", &format!("account_age_days={age}")]);
    assert!(young("7").contains("+ young: applies"));
    assert!(young("100").contains("- young: does not apply"));
}

#[test]
fn explains_at_a_given_time() {
    let night = |at: &str| explained(&["--ip", "203.0.113.9", "--at", at]);
    assert!(night("2026-11-27T23:00Z").contains("+ night: applies"));
    assert!(night("2026-11-27T23:00+02:00").contains("- night: does not apply"));
}

#[test]
fn counts_body_size_and_cost() {
    let out = explained(&["--ip", "203.0.113.9", "--body-size", "64KiB"]);
    assert!(out.contains("64 of 1000/min"), "{out}");
    let out = explained(&["--cost", "7", "--method", "POST", "--path", "/checkout"]);
    assert!(out.contains("7 of 5/min"), "{out}");
}

#[test]
fn rejects_a_file_with_errors() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", "rules: [{ nme: a }]");
    let (code, out, error) = run(&["explain", &path]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(error.contains("there is no field `nme` in a rule"), "{error}");
}

#[test]
fn explains_descriptors() {
    let folder = Folder::new();
    let path = folder.write(
        "rules.yaml",
        "
identify: { user: { attribute: user, secret: true } }
rules:
  - { name: logins, match: { domain: edge, descriptor: { endpoint: login, remote_address: '*' } }, key: ip, limit: 5/hour }
  - { name: users, match: { descriptor: { user: { not: [banned] } } }, key: user, limit: 9/hour }
",
    );
    let login = "endpoint=login,sluicegate=charge,remote_address=203.0.113.9";
    let explain = |arguments: &[&str]| run(&[&["explain", path.as_str()], arguments].concat());
    let (code, out, error) = explain(&[
        "--domain",
        "edge",
        "--descriptor",
        login,
        "--descriptor",
        "user=ann",
        "--cost",
        "2",
    ]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
    let (first, second) = out.split_once("descriptor 2 of 2\n").unwrap();
    assert!(first.contains("a descriptor of 2 entries from edge"), "{first}");
    assert!(first.contains("+ logins: applies") && first.contains("ip=203.0.113.9"), "{first}");
    assert!(first.contains("2 of 5/hour"), "{first}");
    assert!(
        first.contains("- users: does not apply: the descriptor has no entry `user`"),
        "{first}"
    );
    assert!(second.contains("+ users: applies") && !second.contains("ann"), "{second}");

    let (_, out, _) = explain(&["--domain", "other", "--descriptor", login]);
    assert!(
        out.contains("- logins: does not apply: the attribute `domain` is not `edge`"),
        "{out}"
    );
    for wrong in [
        &["--descriptor", login][..],
        &["--domain", "edge"],
        &["--domain", "edge", "--descriptor", "endpoint"],
        &["--domain", "edge", "--descriptor", login, "--path", "/login"],
    ] {
        let (code, _, error) = explain(wrong);
        assert_eq!(code, Some(2), "{wrong:?}: {error}");
    }
}
