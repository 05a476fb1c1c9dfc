//! Rules that are lost or removed while the program runs.

#![cfg(unix)]

use std::fs;

use super::eventually::eventually;
use super::http::{metrics, status};
use super::program::{Folder, Serving, run, sluicegate};

const HEAD: &str = "listen: { http: 127.0.0.1:0 }\n";
const RULE: &str = "rules: [{ name: api, key: ip, limit: 2/h }]\n";

fn serve(path: &str) -> Serving {
    Serving::start(sluicegate(&["serve", "--config", path]))
}

fn see_metrics(serving: &Serving, lines: &[&str]) {
    let seen = |scrape: &String| lines.iter().all(|line| scrape.contains(&format!("\n{line}\n")));
    eventually(|| metrics(&serving.address), seen);
}

fn take(serving: &Serving) -> String {
    status(&serving.address, "/v1/check", r#"{"attributes":{"ip":"203.0.113.9"}}"#)
}

const KEPT: [&str; 3] = [
    "sluicegate_rules_stale 1",
    "sluicegate_rules 1",
    r#"sluicegate_rules_reloads_total{outcome="refused"} 1"#,
];

/// Asserts that the log has the refusal once.
fn assert_logged_once(log: &str, path: &str) {
    let lines: Vec<_> = log.lines().filter(|line| line.contains("rules not reloaded")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains(" ERROR "), "{log}");
    let words = format!(
        "rules not reloaded: there are no more rules in {path}; the previous 1 rule stays in \
         force; to remove all limits, write `rules: []`"
    );
    assert!(lines[0].ends_with(&words), "{log}");
    assert!(!log.contains("so nothing is limited"), "limits apply: {log}");
}

#[test]
fn an_emptied_folder_keeps_the_limits() {
    let folder = Folder::new();
    let path = folder.write("main.yaml", &format!("{HEAD}include: [rules/*.yaml]\n"));
    let included = folder.write("rules/a.yaml", RULE);
    let serving = serve(&path);
    assert_eq!([(); 3].map(|()| take(&serving)), ["200", "200", "429"]);
    fs::remove_file(&included).unwrap();
    see_metrics(&serving, &KEPT);
    assert_eq!(take(&serving), "429");

    folder.write("rules/a.yaml", &RULE.replace("2/h", "3/h"));
    see_metrics(&serving, &["sluicegate_rules_stale 0", "sluicegate_rules 1"]);
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert_logged_once(&log, &path);
    assert!(log.contains("warning[include]: no file matches this pattern"), "{log}");
}

#[test]
fn a_truncated_file_keeps_the_limits() {
    let cut = [String::new(), HEAD.to_owned(), format!("{HEAD}rules:\n")];
    for text in cut {
        let folder = Folder::new();
        let path = folder.write("rules.yaml", &format!("{HEAD}{RULE}"));
        let serving = serve(&path);
        assert_eq!([(); 3].map(|()| take(&serving)), ["200", "200", "429"]);
        folder.write("rules.yaml", &text);
        see_metrics(&serving, &KEPT);
        assert_eq!(take(&serving), "429", "{text}");
        let (_, _, log) = serving.stop("-TERM");
        assert_logged_once(&log, &path);
    }
}

#[test]
fn an_explicit_empty_list_removes_the_limits() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", &format!("{HEAD}{RULE}"));
    let serving = serve(&path);
    assert_eq!([(); 3].map(|()| take(&serving)), ["200", "200", "429"]);
    folder.write("rules.yaml", &format!("{HEAD}rules: []\n"));
    see_metrics(&serving, &["sluicegate_rules_stale 0", "sluicegate_rules 0"]);
    assert_eq!(take(&serving), "200");
    let (_, _, log) = serving.stop("-TERM");
    assert!(!log.contains("rules not reloaded") && !log.contains("WARN"), "{log}");
}

#[test]
fn a_start_without_rules_warns_unless_they_are_explicitly_empty() {
    let folder = Folder::new();
    for (rules, warns) in [("", true), ("rules:\n", true), ("rules: []\n", false)] {
        let path = folder.write("rules.yaml", &format!("{HEAD}{rules}"));
        let (code, out, _) = run(&["validate", "--deny-warnings", &path]);
        assert_eq!(code, Some(i32::from(warns)), "{rules}: {out}");
        let serving = serve(&path);
        see_metrics(&serving, &["sluicegate_rules_stale 0", "sluicegate_rules 0"]);
        let (_, _, log) = serving.stop("-TERM");
        assert_eq!(log.contains("warning[no-rules]"), warns, "{rules}: {log}");
    }
}
