//! Command-line arguments.

use super::program::{ended, run, sluicegate};

#[test]
fn rejects_invalid_arguments() {
    for (arguments, words) in [
        (&["serve", "--htp", "x"][..], "--http"),
        (&["serve", "rules.yaml"], "did you mean `sluicegate serve --config rules.yaml`?"),
        (&["serve", "--config", "a.yaml", "b.yaml"], "`--config` takes one file"),
        (&["serve", "--http", "localhost:7070"], "; use `127.0.0.1:7070`: a host name"),
        (&["serve", "--http", "localhost"], "; use `127.0.0.1:7070`: a host name"),
        (&["serve", "--grpc", "localhost"], "; use `127.0.0.1:7071`: a host name"),
        (&["serve", "--resp", "127.0.0.1"], "; use `127.0.0.1:7072`: a port is required"),
        (&["serve", "--http", "gateway:80"], "; use one as in `127.0.0.1:80`, "),
        (&["serve", "--log", "loud"], "`loud` is not a level"),
        (&["serve", "--shutdown-timeout", "soon"], "--shutdown-timeout"),
        (&["serve", "--store", "http://cache"], "the scheme `http://` is unknown"),
        (&["serve", "--store", "redis+cluster://cache/1"], "only the database 0"),
        (
            &["serve", "--store", "redis+sentinel://cache"],
            "does not name the primary of the sentinels",
        ),
        (&["serve", "--memory-max", "256M"], "as in 256MiB"),
        (&["serve", "--memory-max", "1000"], "use at least 1MiB"),
        (&["serve", "--snapshot-every", "often"], "as in `15m`"),
        (&["serve", "--snapshot-every", "10ms"], "use at least 1s"),
        (&["serve", "--config", "/nowhere/rules.yaml"], "cannot read `/nowhere/rules.yaml`"),
        (&["validate"], "<FILE>"),
        (&["validate", "-", "-"], "cannot read `-` twice"),
        (&["validate", "a", "--allow-warnings"], "unexpected argument"),
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
        (&["check", "--address", "localhost:7070"], "use one as in 127.0.0.1:7070"),
        (&["bench", "http", "--address", "localhost"], "use one as in 127.0.0.1:7070 for http"),
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
fn errors_of_environment_variables_name_the_variable() {
    for (name, value, words) in [
        ("HTTP", "localhost:7070", "; use `127.0.0.1:7070`: a host name"),
        ("THREADS", "0", "0 is not in 1..=1024"),
        ("MEMORY_MAX", "much", "as in 256MiB"),
    ] {
        let variable = format!("SLUICEGATE_{name}");
        let (code, out, error) = ended(sluicegate(&["serve"]).env(&variable, value));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{variable}");
        let tip = format!("tip: the value comes from the environment variable {variable}\n");
        assert!(error.contains(words) && error.contains(&tip), "{error}");
    }
    let mut command = sluicegate(&["serve", "--http", "localhost:7070"]);
    let (_, _, error) = ended(command.env("SLUICEGATE_HTTP", "127.0.0.1:0"));
    assert!(!error.contains("environment"), "the flag is wrong: {error}");
}

#[test]
fn an_unreadable_file_is_an_error_with_a_hint() {
    let (_, _, error) = run(&["validate", "/nowhere/rules.yaml"]);
    let expected = "error: cannot read `/nowhere/rules.yaml`: there is no such file\n\
                    hint: give the path of a rule file, or of a folder with `.yaml` files\n";
    assert_eq!(error, expected);
}

#[test]
fn prints_version_and_help() {
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
fn prints_the_schema_as_one_json_object() {
    let (code, schema, _) = run(&["schema"]);
    assert_eq!(code, Some(0));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Sluicegate rule file");
}
