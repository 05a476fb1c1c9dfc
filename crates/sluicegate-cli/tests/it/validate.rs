//! `sluicegate validate`.

use serde_json::{Value, json};

use super::program::{Folder, run};

const GOOD: &str = "rules:\n  - { name: api, key: ip, limit: 100/min }\n";
const BAD: &str = "rules:\n  - { name: api, key: ip, limt: 100/min }\n";
/// The second can never refuse what the first admits.
const DOUBTFUL: &str = "
rules:
  - { name: api, key: ip, limit: 5/min }
  - { name: hidden, key: ip, limit: 5/min, match: { method: GET } }
";

#[test]
fn a_good_file_is_ok() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", GOOD);
    let ok = (Some(0), "ok: 1 rule, 0 warnings\n".to_owned(), String::new());
    assert_eq!(run(&["validate", &path]), ok);
    assert_eq!(run(&["validate", "--allow-warnings", &path]), ok);
    assert_eq!(run(&["validate", folder.path().to_str().unwrap()]), ok, "a folder too");
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", BAD);
    let (code, out, error) = run(&["validate", &path]);
    assert_eq!((code, error.as_str()), (Some(1), ""));
    assert!(out.contains("error[unknown-field]: there is no field `limt` in a rule"), "{out}");
    assert!(out.contains(&format!("--> {path}:2:27\n")), "{out}");
    assert!(out.contains("did you mean `limit`?"), "{out}");
    assert!(!out.contains("ok:"), "{out}");
}

#[test]
fn warnings_are_findings_unless_they_are_allowed() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", DOUBTFUL);
    let (code, out, _) = run(&["validate", "--allow-warnings", &path]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("warning[") && out.ends_with("\nok: 2 rules, 1 warning\n"), "{out}");
    let (code, out, _) = run(&["validate", &path]);
    assert_eq!(code, Some(1));
    assert!(out.ends_with("\n1 warning\n"), "{out}");
}

#[test]
fn colours_are_used_when_asked_for() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", BAD);
    for (arguments, coloured) in [
        (&[][..], false),
        (&["--colour", "always"], true),
        (&["--color=always"], true),
        (&["--colour", "auto"], false),
        (&["--colour", "never"], false),
    ] {
        let (_, out, _) = run(&[&["validate", path.as_str()], arguments].concat());
        assert_eq!(out.contains('\u{1b}'), coloured, "{arguments:?}");
    }
}

#[test]
fn programs_are_told_the_same() {
    let folder = Folder::new();
    let bad = folder.write("bad.yaml", BAD);
    let told = |arguments: &[&str]| -> (Option<i32>, Value) {
        let (code, out, _) = run(&[&["validate", "--format", "json"], arguments].concat());
        assert_eq!(out.matches('\n').count(), 1, "one line: {out}");
        (code, serde_json::from_str(&out).unwrap())
    };
    let (code, report) = told(&[&bad]);
    assert_eq!(code, Some(1));
    assert_eq!((&report["ok"], &report["warnings"]), (&json!(false), &json!(0)));
    let found = report["findings"].as_array().unwrap();
    assert_eq!(report["errors"], found.len());
    let mistake = found.iter().find(|found| found["code"] == "unknown-field").unwrap();
    let expected = json!({
        "severity": "error",
        "code": "unknown-field",
        "message": "there is no field `limt` in a rule",
        "help": "did you mean `limit`?",
        "file": bad,
        "line": 2, "column": 27, "end_line": 2, "end_column": 31,
    });
    assert_eq!(*mistake, expected);

    let good = folder.write("good.yaml", GOOD);
    let clean = json!({ "ok": true, "errors": 0, "warnings": 0, "findings": [] });
    assert_eq!(told(&[&good]), (Some(0), clean));
    let (_, report) = told(&[&good, "--envelope"]);
    assert!(report["envelope"].as_str().unwrap().contains("100/min"));

    let doubtful = folder.write("doubtful.yaml", DOUBTFUL);
    let (code, report) = told(&[&doubtful, "--allow-warnings"]);
    assert_eq!((code, &report["ok"], &report["warnings"]), (Some(0), &json!(true), &json!(1)));
    let (code, report) = told(&[&doubtful]);
    assert_eq!((code, &report["ok"]), (Some(1), &json!(false)));
}

#[test]
fn what_a_rule_really_allows_is_said_when_asked_for() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", GOOD);
    let (code, out, _) = run(&["validate", "--envelope", &path]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("api\n"), "{out}");
    assert!(out.contains("up to 200 in the first minute"), "{out}");
    assert!(out.ends_with("ok: 1 rule, 0 warnings\n"), "{out}");
}
