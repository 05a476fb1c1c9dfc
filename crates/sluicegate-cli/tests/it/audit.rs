//! `sluicegate audit`.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::program::{Folder, run, sluicegate};

const HEADER: &str = "{\"trace\":1,\"rules\":{\"api\":{\"algorithm\":\"token_bucket\",\
                      \"quota\":\"1/s burst 3\"}},\"nodes\":2}\n";

fn decision(at: u64, allowed: bool, remaining: u64, retry: Option<u64>) -> String {
    let entry = json!({
        "at": 1_767_225_600_000_000 + at, "node": "a", "key": "ann", "rule": "api", "cost": 1,
        "allowed": allowed, "remaining": remaining, "retry_after_us": retry, "waited_us": 100 + at,
    });
    format!("{entry}\n")
}

fn good() -> String {
    let entries = [
        decision(0, true, 2, None),
        decision(1, true, 1, None),
        decision(2, true, 0, None),
        decision(3, false, 0, Some(999_997)),
    ];
    entries.concat()
}

#[test]
fn an_honest_trace_is_ok() {
    let folder = Folder::new();
    let path = folder.write("trace.jsonl", &(HEADER.to_owned() + &good()));
    let expected = "api: token_bucket 1/s burst 3\n  \
                    4 decisions of 1 key: 3 allowed, 1 refused\n  \
                    tightest: admitted 3 of 3 allowed in 2us from 1767225600000000 (key `ann`)\n\
                    latency: p50 101 us, p99 103 us, max 103 us\n\
                    note: 1 of 2 nodes are in the trace: grants to the others are missing, \
                    so correct refusals may be reported as wrong\n\
                    ok: 4 entries of 1 node in 3us\n";
    assert_eq!(run(&["audit", &path]), (Some(0), expected.to_owned(), String::new()));
    let waits = ["--wait-p99-us", "103", "--wait-max-us", "103"];
    assert_eq!(run(&[&["audit", &path][..], &waits].concat()).0, Some(0));
}

#[test]
fn a_violation_is_reported_with_its_line() {
    let folder = Folder::new();
    let one = folder.write("one.jsonl", &(HEADER.to_owned() + &good()));
    let mut other = HEADER.to_owned();
    let _ = write!(other, "{}", decision(4, true, 0, None));
    let other = folder.write("other.jsonl", &other);
    let (code, out, error) = run(&["audit", &one, &other]);
    assert_eq!((code, error.as_str()), (Some(1), ""), "{out}");
    let line = format!(
        "  ! over_admitted at {other}:2: key `ann` was admitted 4 of 3 allowed in 4us \
         from 1767225600000000\n"
    );
    assert!(out.contains(&line), "{out}");
    assert!(out.ends_with("1 violation in 5 entries of 1 node in 4us\n"), "{out}");

    let (code, out, _) = run(&["audit", &one, &other, "--format", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(1));
    assert_eq!(found["ok"], false);
    assert_eq!(found["rules"][0]["tightest"]["admitted"], 3);
    assert_eq!(
        found["violations"][0],
        json!({
            "kind": "over_admitted", "rule": "api", "key": "ann", "node": "a",
            "at_us": 1_767_225_600_000_004_u64, "file": other, "line": 2,
            "what": "was admitted 4 of 3 allowed in 4us from 1767225600000000",
        })
    );
}

#[test]
fn flags_complete_the_header() {
    let folder = Folder::new();
    let path = folder.write("trace.jsonl", &good());
    let rule = ["--rule", "api=token_bucket:1/s burst 3"];
    assert_eq!(run(&[&["audit", &path][..], &rule].concat()).0, Some(0));
    let tighter = ["--rule", "api=token_bucket:1/s burst 2"];
    assert_eq!(run(&[&["audit", &path][..], &tighter].concat()).0, Some(1));
    let local = decision(4, true, 0, None).replace("\"at\"", "\"source\":\"local\",\"at\"");
    let away = folder.write("away.jsonl", &(good() + &local));
    let (code, out, _) = run(&[&["audit", &away][..], &rule].concat());
    assert_eq!(code, Some(1));
    assert!(out.contains("over_admitted_in_outage"), "{out}");
    let outage = ["--outage", "1767225600000004..1767225600000009", "--nodes", "2"];
    let (code, out, _) = run(&[&["audit", &away][..], &rule, &outage].concat());
    assert_eq!(code, Some(0), "{out}");
    let emptied = folder.write("emptied.jsonl", &(good() + &decision(4, true, 2, None)));
    assert_eq!(run(&[&["audit", &emptied][..], &rule].concat()).0, Some(1));
    let loss = ["--state-loss", "1767225600000004"];
    let (code, out, _) = run(&[&["audit", &emptied][..], &rule, &loss].concat());
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn checks_latency_bounds() {
    let folder = Folder::new();
    let path = folder.write("trace.jsonl", &(HEADER.to_owned() + &good()));
    for (flag, words) in [
        ("--wait-max-us", "waited 103 us; at most 102 us are allowed"),
        ("--wait-p99-us", "1 of 4 waited longer than 102 us"),
    ] {
        let (code, out, _) = run(&["audit", &path, flag, "102"]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains(words), "{out}");
    }
}

#[test]
fn rejects_invalid_traces_and_flags() {
    let folder = Folder::new();
    let path = folder.write("trace.jsonl", &format!("{HEADER}{}nonsense\n{{}}\n", good()));
    let (code, out, error) = run(&["audit", &path]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    let first = format!("error: cannot read the trace\n  {path}:6: it is no JSON object; ");
    assert!(error.starts_with(&first), "{error}");
    assert!(error.contains(&format!("{path}:7: it has no `allowed`")), "{error}");
    for (arguments, words) in [
        (&["audit"][..], "<TRACE>"),
        (&["audit", "/nowhere.jsonl"], "/nowhere.jsonl: there is no such file"),
        (&["audit", "a", "--rule", "api"], "use a name, `=` and a limit"),
        (&["audit", "a", "--rule", "api=token_bucket"], "names no quota"),
        (&["audit", "a", "--rule", "api=concurrency:20"], "as in `concurrency:20/10s`"),
        (&["audit", "a", "--outage", "5..1"], "the earlier one first"),
        (&["audit", "a", "--nodes", "many"], "--nodes"),
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn reads_a_trace_from_standard_input() {
    let mut command = sluicegate(&["audit", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text = HEADER.to_owned() + &good();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// `docs/traces.md` contains a trace and the report about it.
#[test]
fn the_documented_report_is_current() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md");
    let page = fs::read_to_string(page).unwrap();
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let folder = Folder::new();
    folder.write("trace.jsonl", &block("jsonl"));
    let mut command = sluicegate(&["audit", "trace.jsonl"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), block("text"));
    assert_eq!(output.status.code(), Some(1));
}
