//! What is typed.

use super::program::run;

#[test]
fn what_cannot_be_meant_is_refused_before_anything_starts() {
    for (arguments, words) in [
        (&["serve", "--htp", "x"][..], "--http"),
        (&["serve", "--http", "localhost"], "use one as in 127.0.0.1:7070"),
        (&["serve", "--log", "loud"], "`loud` is not a level"),
        (&["serve", "--shutdown-timeout", "soon"], "--shutdown-timeout"),
        (&["serve", "--store", "http://cache"], "there is no store `http://`"),
        (&["serve", "--store", "redis+cluster://cache/1"], "no database but 0"),
        (&["serve", "--store", "redis+sentinel://cache"], "which primary to ask"),
        (&["serve", "--memory-max", "256M"], "as in 256MiB"),
        (&["serve", "--memory-max", "1000"], "use at least 1MiB"),
        (&["serve", "--snapshot-every", "often"], "as in `15m`"),
        (&["serve", "--snapshot-every", "10ms"], "use at least 1s"),
        (&["serve", "--config", "/nowhere/rules.yaml"], "cannot read `/nowhere/rules.yaml`"),
        (&["validate"], "<FILE>"),
        (&["validate", "a", "b"], "unexpected argument"),
        (&["validate", "a", "--format", "xml"], "possible values: text, json"),
        (&["validate", "a", "--colour", "red"], "possible values: auto, always, never"),
        (&["validate", "/nowhere/rules.yaml"], "cannot read `/nowhere/rules.yaml`"),
        (&["explain"], "<FILE>"),
        (&["explain", "a", "--ip", "localhost"], "--ip"),
        (&["explain", "a", "-H", "x-api-key"], "use a name, a colon and a value"),
        (&["explain", "a", "--attribute", "user"], "use a name, `=` and a value"),
        (&["explain", "a", "--attribute", "u=1", "--attribute", "u=2"], "`u` is given twice"),
        (&["explain", "a", "--cost=-1"], "--cost"),
        (&["explain", "a", "--body-size", "64K"], "as in 256MiB"),
        (&["explain", "a", "--at", "tomorrow"], "write `2026-11-27`"),
        (&["explain", "/nowhere/rules.yaml"], "cannot read `/nowhere/rules.yaml`"),
        (&["schema", "rules.yaml"], "unexpected argument"),
        (&["sevre"], "serve"),
        (&[], "Usage"),
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn what_cannot_be_read_is_said_with_a_hint() {
    let (_, _, error) = run(&["validate", "/nowhere/rules.yaml"]);
    let expected = "error: cannot read `/nowhere/rules.yaml`: there is no such file\n\
                    hint: give the path of a rule file, or of a folder with `.yaml` files\n";
    assert_eq!(error, expected);
}

#[test]
fn the_version_and_the_help_are_printed() {
    let version = concat!("sluicegate ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(run(&["--version"]), (Some(0), version.to_owned(), String::new()));
    let (code, help, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    for word in ["serve", "validate", "explain", "schema"] {
        assert!(help.contains(word), "{word}");
    }
    let (code, help, _) = run(&["serve", "--help"]);
    assert_eq!(code, Some(0));
    for word in ["--config", "SLUICEGATE_CONFIG", "--http", "SLUICEGATE_HTTP", "127.0.0.1:7070"] {
        assert!(help.contains(word), "{word}");
    }
    for word in ["--memory-max", "SLUICEGATE_MEMORY_MAX", "--snapshot", "--snapshot-every", "60s"] {
        assert!(help.contains(word), "{word}");
    }
    for word in ["--log", "--shutdown-timeout"] {
        assert!(help.contains(word), "{word}");
    }
}

#[test]
fn the_schema_is_one_json_object() {
    let (code, schema, _) = run(&["schema"]);
    assert_eq!(code, Some(0));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Sluicegate rule file");
}
