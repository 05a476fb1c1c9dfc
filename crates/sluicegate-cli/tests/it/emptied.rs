//! Rules that get lost while they are gone by, and rules that are taken away.

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

/// What the log says, once.
fn assert_said(log: &str, path: &str) {
    let said: Vec<_> = log.lines().filter(|line| line.contains("rules not reloaded")).collect();
    assert_eq!(said.len(), 1, "{log}");
    assert!(said[0].contains(" ERROR "), "{log}");
    let words = format!(
        "rules not reloaded: there are no rules in {path} any more; the 1 rule from before stays \
         in force; if nothing is to be limited, say so with `rules: []`"
    );
    assert!(said[0].ends_with(&words), "{log}");
    assert!(!log.contains("so nothing is limited"), "it is: {log}");
}

#[test]
fn a_folder_of_rules_that_is_emptied_switches_no_limit_off() {
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
    assert_said(&log, &path);
    assert!(log.contains("warning[include]: no file matches this pattern"), "{log}");
}

#[test]
fn a_file_that_is_cut_off_switches_no_limit_off() {
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
        assert_said(&log, &path);
    }
}

#[test]
fn rules_are_taken_away_in_words() {
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
fn no_rules_to_begin_with_are_doubtful_unless_said_in_words() {
    let folder = Folder::new();
    for (rules, doubtful) in [("", true), ("rules:\n", true), ("rules: []\n", false)] {
        let path = folder.write("rules.yaml", &format!("{HEAD}{rules}"));
        let (code, out, _) = run(&["validate", &path]);
        assert_eq!(code, Some(i32::from(doubtful)), "{rules}: {out}");
        let serving = serve(&path);
        see_metrics(&serving, &["sluicegate_rules_stale 0", "sluicegate_rules 0"]);
        let (_, _, log) = serving.stop("-TERM");
        assert_eq!(log.contains("warning[no-rules]"), doubtful, "{rules}: {log}");
    }
}
