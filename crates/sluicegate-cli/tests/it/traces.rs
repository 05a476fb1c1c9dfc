//! `sluicegate serve --trace`, audited by `sluicegate audit`.

use std::fs;
use std::thread;

use sluicegate_testkit::{Server, retry_if_stalled};

use super::eventually::eventually;
use super::http::{metrics, post};
use super::program::{Folder, Serving, run, sluicegate};

/// Rules of many kinds, each with a small quota.
const RULES: &str = "
store: { redis: { url: 'redis://127.0.0.1:1', deadline: 1s } }
secret: ${SLUICEGATE_SECRET}
identify: { tier: { attribute: plan, default: free } }
tiers: { free: { some: 2/min }, pro: { some: 8/min } }
rules:
  - { name: burst, key: api_key, limit: 600/min burst 5, match: { path: /burst } }
  - { name: daily, key: api_key, limit: { quota: 20/day, algorithm: fixed_window }, match: { path: /daily } }
  - { name: strict, key: api_key, limit: { quota: 10/min, algorithm: sliding_log }, match: { path: /strict } }
  - { name: both, key: api_key, limit: [5/s, 12/min], match: { path: /both } }
  - { name: tiered, key: api_key, limit: { tier: some }, match: { path: /tiered } }
  - { name: slots, key: api_key, limit: { concurrent: 2, lease: 60s }, match: { path: /slots } }
";

const PATHS: [&str; 7] = ["/burst", "/daily", "/strict", "/both", "/tiered", "/slots", "/slots"];

/// An API key, which must not be in a trace.
fn api_key(number: usize) -> String {
    format!("sk-live-{number}")
}

/// Checks every path many times for a few callers. Returns the number of refusals.
fn send_checks(address: &str, times: usize) -> usize {
    let mut refused = 0;
    for turn in 0..times {
        let (path, key) = (PATHS[turn % PATHS.len()], api_key(turn % 3));
        // The tier of the third caller changes halfway.
        let tier = if turn % 3 == 2 && turn > times / 2 { "pro" } else { "free" };
        let body =
            format!(r#"{{"attributes":{{"api_key":"{key}","path":"{path}","plan":"{tier}"}}}}"#);
        let answer = post(address, "/v1/check", &body);
        refused += usize::from(answer.starts_with("HTTP/1.1 429 "));
        if let Some((_, slot)) = answer.split_once("\"slot\":\"")
            && turn % 5 > 0
        {
            let slot = slot.split('"').next().unwrap();
            let answer = post(address, "/v1/release", &format!("{{\"slot\":\"{slot}\"}}"));
            assert!(answer.contains("\"released\":1"), "{answer}");
        }
    }
    refused
}

fn serve(folder: &Folder, trace: &str, more: &[&str]) -> Serving {
    let rules = folder.write("rules.yaml", RULES);
    let mut command = sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", &rules]);
    command.args(["--trace", trace]).args(more).env("SLUICEGATE_SECRET", "not for everybody");
    Serving::start(command)
}

/// Changes the first refusals of a rule to admissions.
fn tampered(text: &str, rule: &str, count: usize) -> String {
    let mut left = count;
    let lines = text.lines().map(|line| {
        let is_one =
            line.contains(&format!("\"rule\":\"{rule}#")) && line.contains("\"allowed\":false");
        if !is_one || left == 0 {
            return format!("{line}\n");
        }
        left -= 1;
        format!("{}\n", line.replace("\"allowed\":false", "\"allowed\":true"))
    });
    let tampered = lines.collect();
    assert_eq!(left, 0, "the trace has enough refusals");
    tampered
}

#[test]
fn an_audit_accepts_a_real_trace_and_rejects_a_forged_one() {
    let folder = Folder::new();
    let trace = folder.at("trace.jsonl");
    let serving = serve(&folder, &trace, &["--store", "memory", "--node", "north"]);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(send_checks(&serving.address, 200) > 20));
        }
    });
    for _ in 0..9 {
        post(&serving.address, "/v1/throttle", r#"{"key":"sk-live-7","quota":"3/min"}"#);
    }
    let (code, out, log) = serving.stop("-TERM");
    assert_eq!(code, Some(0), "{log}");
    assert!(out.contains(&format!(" decisions in the trace {trace}\n")), "{out}");

    let text = fs::read_to_string(&trace).unwrap();
    assert!(!text.contains("sk-live"), "no caller is named");
    assert!(text.contains("\"node\":\"north\""), "{text:.500}");
    let (code, out, error) = run(&["audit", &trace]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
    for rule in
        ["burst#", "daily#", "strict#", "both", "tiered", "slots~", "throttle:token_bucket#"]
    {
        assert!(out.contains(&format!("\n{rule}")) || out.starts_with(rule), "{rule}: {out}");
    }
    assert!(out.contains("\nok: ") && !out.contains("note: "), "{out}");

    let forged = folder.write("forged.jsonl", &tampered(&text, "strict", 1));
    let (code, out, _) = run(&["audit", &forged]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("  ! over_admitted at "), "{out}");
    assert!(out.contains("was admitted 11 of 10 allowed"), "{out}");

    let lines = text.lines().filter(|line| !line.contains("\"burst#"));
    let cut: String = lines
        .flat_map(|line| {
            [
                line, "
",
            ]
        })
        .collect();
    let cut = folder.write("cut.jsonl", &cut);
    let (code, _, error) = run(&["audit", &cut]);
    assert_eq!(code, Some(2));
    assert!(error.contains("use the whole file"), "{error}");
}

#[test]
fn audits_the_traces_of_nodes_together() {
    retry_if_stalled(|| {
        let (server, folder) = (Server::redis(), Folder::new());
        let traces = ["a", "b"].map(|node| folder.at(&format!("{node}.jsonl")));
        let store = server.url();
        let nodes = ["a", "b"].map(|node| {
            let number = usize::from(node == "b");
            serve(&folder, &traces[number], &["--node", node, "--store", &store])
        });
        thread::scope(|scope| {
            for node in &nodes {
                scope.spawn(|| assert!(send_checks(&node.address, 200) > 20));
            }
        });
        for node in nodes {
            let (code, _, log) = node.stop("-TERM");
            assert_eq!(code, Some(0), "{log}");
        }
        let [a, b] = &traces;
        let (code, out, error) = run(&["audit", a, b]);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
        assert!(out.contains(" of 2 nodes in "), "{out}");
        // One trace alone lacks the grants of the other node.
        let (code, out, _) = run(&["audit", a]);
        assert!(code == Some(1) || out.contains(" within bounds"), "{out}");
        let text = fs::read_to_string(a).unwrap();
        let refusals = text
            .lines()
            .filter(|line| {
                line.contains("\"rule\":\"strict#") && line.contains("\"allowed\":false")
            })
            .count();
        let forged = folder.write("forged.jsonl", &tampered(&text, "strict", refusals));
        let (code, out, _) = run(&["audit", &forged, b]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("over_admitted"), "{out}");
    });
}

#[test]
fn a_trace_contains_changed_rules_and_the_audit_continues() {
    let folder = Folder::new();
    let trace = folder.at("trace.jsonl");
    let serving = serve(&folder, &trace, &["--store", "memory"]);
    send_checks(&serving.address, 150);
    let loaded =
        |count: usize| format!("\nsluicegate_rules_reloads_total{{outcome=\"loaded\"}} {count}\n");
    folder.write(
        "rules.yaml",
        &RULES.replace("10/min", "30/min").replace("600/min burst 5", "60/min burst 3"),
    );
    eventually(|| metrics(&serving.address), |scrape| scrape.contains(&loaded(1)));
    send_checks(&serving.address, 150);
    let (code, _, _) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    let text = fs::read_to_string(&trace).unwrap();
    assert!(
        text.contains("\"10/min\"") && text.contains("\"30/min\""),
        "both limits are in the trace"
    );
    let (code, out, error) = run(&["audit", &trace]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{out}");
    assert_eq!(out.matches("\nstrict#").count(), 2, "{out}");
}

#[test]
fn an_idle_server_writes_an_empty_trace() {
    let folder = Folder::new();
    let trace = folder.at("trace.jsonl");
    let serving = serve(&folder, &trace, &["--store", "memory"]);
    let (code, out, _) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert!(out.contains("sluicegate: 0 decisions in the trace "), "{out}");
    let (code, out, error) = run(&["audit", &trace]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert!(out.contains("note: the trace has no entries, so nothing was checked\n"), "{out}");
}

#[test]
fn an_unwritable_trace_is_an_error_at_the_start() {
    let folder = Folder::new();
    let nowhere = folder.at("no such folder/trace.jsonl");
    let arguments = ["serve", "--http", "127.0.0.1:0", "--trace", &nowhere];
    let (code, out, error) = run(&arguments);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(error.starts_with(&format!("error: cannot write the trace {nowhere}: ")), "{error}");
    assert!(
        error.contains("\nhint: give --trace a file in an existing, writable folder"),
        "{error}"
    );
    let (code, _, error) = run(&["serve", "--node", "north"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--trace"), "{error}");
}
