//! `sluicegate validate`.

use std::fs::File;

use serde_json::{Value, json};

use super::program::{Folder, ended, run, sluicegate};

const GOOD: &str = "rules:\n  - { name: api, key: ip, limit: 100/min }\n";
const BAD: &str = "rules:\n  - { name: api, key: ip, limt: 100/min }\n";
const DOUBTFUL: &str = "rules:\n  - { name: api, key: ip, limit: 1/s burst 100 }\n";

#[test]
fn a_valid_file_is_ok() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", GOOD);
    let ok = (Some(0), "ok: 1 rule, 0 warnings\n".to_owned(), String::new());
    assert_eq!(run(&["validate", &path]), ok);
    assert_eq!(run(&["validate", "--deny-warnings", &path]), ok);
    assert_eq!(run(&["validate", folder.path().to_str().unwrap()]), ok, "a folder too");
}

#[test]
fn errors_are_shown_with_their_place() {
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
fn warnings_fail_only_where_they_are_denied() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", DOUBTFUL);
    let (code, out, _) = run(&["validate", &path]);
    assert_eq!(code, Some(0), "{out}");
    let end = "\n1 warning\nok: 1 rule, 1 warning\n";
    assert!(out.starts_with("warning[large-burst]") && out.ends_with(end), "{out}");
    let (code, out, _) = run(&["validate", "--deny-warnings", &path]);
    assert_eq!(code, Some(1));
    assert!(out.ends_with("\n1 warning\n"), "{out}");
}

/// The result line of each argument, without the path of the folder.
fn results<'t>(out: &'t str, folder: &Folder) -> Vec<&'t str> {
    let prefix = format!("{}/", folder.path().display());
    out.lines().filter_map(|line| line.strip_prefix(&prefix)).collect()
}

#[test]
fn the_exit_code_is_that_of_the_worst_argument() {
    let folder = Folder::new();
    let good = folder.write("good.yaml", GOOD);
    let doubtful = folder.write("doubtful.yaml", DOUBTFUL);
    let bad = folder.write("bad.yaml", BAD);
    let missing = folder.at("missing.yaml");
    let (ok, warned) =
        ("good.yaml: ok: 1 rule, 0 warnings", "doubtful.yaml: ok: 1 rule, 1 warning");
    for (paths, code, expected) in [
        (&[&good, &good][..], 0, &[ok, ok][..]),
        (&[&doubtful, &good], 0, &[warned, ok]),
        (&[&bad, &doubtful, &good], 1, &["bad.yaml: 1 error", warned, ok]),
        (&[&missing, &bad, &good], 2, &["bad.yaml: 1 error", ok]),
    ] {
        let arguments: Vec<&str> =
            ["validate"].into_iter().chain(paths.iter().map(|path| path.as_str())).collect();
        let (found, out, error) = run(&arguments);
        assert_eq!((found, results(&out, &folder).as_slice()), (Some(code), expected), "{out}");
        assert_eq!(error.contains("missing.yaml`: there is no such file"), code == 2, "{error}");
    }
    let (code, out, _) = run(&["validate", "--deny-warnings", &doubtful, &good]);
    assert_eq!(code, Some(1));
    assert_eq!(results(&out, &folder), ["doubtful.yaml: 1 warning", ok]);
}

#[test]
fn a_folder_is_one_rule_set_as_for_serve() {
    let folder = Folder::new();
    let first = folder.write("rules/a.yaml", "rules: [{ name: api, key: ip, limit: 1/s }]\n");
    let second = folder.write("rules/b.yaml", "rules: [{ name: api, key: ip, limit: 2/s }]\n");
    folder.write("rules/.hidden.yaml", "not a rule file\n");
    let (code, out, _) = run(&["validate", &first, &second]);
    assert_eq!(code, Some(0), "two rule sets: {out}");
    let together = folder.at("rules");
    let (code, report, _) = run(&["validate", &together]);
    assert_eq!(code, Some(1));
    assert!(report.contains("error[given-twice]: two rules have the name `api`"), "{report}");
    let (code, _, log) = run(&["serve", "--http", "127.0.0.1:0", "--config", &together]);
    assert_eq!(code, Some(1));
    assert!(log.starts_with(&report), "{log}");
}

#[test]
fn a_dash_is_standard_input() {
    let folder = Folder::new();
    folder.write("more.yaml", GOOD);
    folder.write("other.yaml", GOOD);
    let given = |text: &str, arguments: &[&str]| {
        let input = File::open(folder.write("input", text)).unwrap();
        ended(sluicegate(arguments).current_dir(folder.path()).stdin(input))
    };
    let (code, out, _) = given(BAD, &["validate", "-"]);
    assert_eq!(code, Some(1));
    assert!(out.contains("--> <stdin>:2:27\n"), "{out}");
    let (code, out, error) = given("include: more.yaml\n", &["validate", "other.yaml", "-"]);
    let expected = "other.yaml: ok: 1 rule, 0 warnings\n-: ok: 1 rule, 0 warnings\n";
    assert_eq!((code, out.as_str(), error.as_str()), (Some(0), expected, ""));
}

#[test]
fn colours_follow_the_flag() {
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
fn json_has_the_same_findings() {
    let folder = Folder::new();
    let bad = folder.write("bad.yaml", BAD);
    let validated = |arguments: &[&str]| -> (Option<i32>, Value) {
        let (code, out, _) = run(&[&["validate", "--format", "json"], arguments].concat());
        assert_eq!(out.matches('\n').count(), 1, "one line: {out}");
        (code, serde_json::from_str(&out).unwrap())
    };
    let (code, report) = validated(&[&bad]);
    assert_eq!(code, Some(1));
    assert_eq!((&report["ok"], &report["warnings"]), (&json!(false), &json!(0)));
    let found = report["diagnostics"].as_array().unwrap();
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
    let clean = json!({ "path": good, "ok": true, "errors": 0, "warnings": 0, "diagnostics": [] });
    assert_eq!(validated(&[&good]), (Some(0), clean));
    let (_, report) = validated(&[&good, "--envelope"]);
    assert!(report["envelope"].as_str().unwrap().contains("100/min"));

    let doubtful = folder.write("doubtful.yaml", DOUBTFUL);
    let (code, report) = validated(&[&doubtful]);
    assert_eq!((code, &report["ok"], &report["warnings"]), (Some(0), &json!(true), &json!(1)));
    let (code, report) = validated(&[&doubtful, "--deny-warnings"]);
    assert_eq!((code, &report["ok"]), (Some(1), &json!(false)));
}

#[test]
fn json_has_a_line_for_each_argument() {
    let folder = Folder::new();
    let (good, bad) = (folder.write("good.yaml", GOOD), folder.write("bad.yaml", BAD));
    let missing = folder.at("missing.yaml");
    let (code, out, _) = run(&["validate", "--format", "json", &missing, &bad, &good]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = lines.iter().map(|line| (&line["path"], &line["ok"])).collect();
    let expected =
        [(json!(missing), json!(false)), (json!(bad), json!(false)), (json!(good), json!(true))];
    assert_eq!(found, expected.iter().map(|(path, ok)| (path, ok)).collect::<Vec<_>>());
    let unreadable = lines.iter().map(|line| &line["unreadable"]).collect::<Vec<_>>();
    assert_eq!(unreadable, [&json!("there is no such file"), &Value::Null, &Value::Null]);
    assert_eq!(code, Some(2));
}

#[test]
fn envelope_prints_the_most_that_a_rule_admits() {
    let folder = Folder::new();
    let path = folder.write("rules.yaml", GOOD);
    let (code, out, _) = run(&["validate", "--envelope", &path]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("api\n"), "{out}");
    assert!(out.contains("up to 200 in the first minute"), "{out}");
    assert!(out.ends_with("ok: 1 rule, 0 warnings\n"), "{out}");
}
