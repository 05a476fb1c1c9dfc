//! `sluicegate version`, `completions` and `man`.

use std::fs;
use std::process::{Command, Stdio};

use super::program::{Folder, run};

const COMMANDS: [&str; 10] = [
    "audit",
    "bench",
    "check",
    "completions",
    "explain",
    "man",
    "schema",
    "serve",
    "validate",
    "version",
];

#[test]
fn version_says_how_the_program_was_built() {
    let (code, line, error) = run(&["version"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let begin = concat!("sluicegate ", env!("CARGO_PKG_VERSION"), " (");
    assert!(line.starts_with(begin) && line.ends_with(" allocator)\n"), "{line}");

    let (code, json, _) = run(&["version", "--json"]);
    assert_eq!(code, Some(0));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    let arch = std::env::consts::ARCH;
    assert!(json["target"].as_str().unwrap().starts_with(arch), "{json}");
    assert!(json["static"].is_boolean() && json["allocator"].is_string(), "{json}");
    // Either null or the commit of the build.
    assert!(json.get("commit").is_some(), "{json}");
}

#[test]
fn completions_offer_every_command_in_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, script, error) = run(&["completions", shell]);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{shell}");
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("memory-max"), "{shell} completes flags");
    }
    let (code, _, error) = run(&["completions", "tcsh"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("possible values: bash"), "{error}");
}

#[test]
fn bash_completes_a_command() {
    let folder = Folder::new();
    let script = folder.write("completions", &run(&["completions", "bash"]).1);
    let complete = format!(
        "source {script}; COMP_WORDS=(sluicegate ser); COMP_CWORD=1; \
         _sluicegate sluicegate ser sluicegate; echo \"${{COMPREPLY[*]}}\""
    );
    let shell = Command::new("bash").args(["--norc", "-c", &complete]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "serve\n");
}

#[test]
fn a_manual_page_is_written_for_each_command() {
    let folder = Folder::new();
    let pages = folder.at("man/man1");
    assert_eq!(run(&["man", "--out", &pages]), (Some(0), String::new(), String::new()));
    let mut names: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected: Vec<String> =
        COMMANDS.iter().map(|command| format!("sluicegate-{command}.1")).collect();
    expected.push("sluicegate.1".to_owned());
    expected.sort();
    assert_eq!(names, expected);

    let serve = fs::read_to_string(folder.at("man/man1/sluicegate-serve.1")).unwrap();
    assert!(serve.starts_with(".ie"), "{serve}");
    for word in ["sluicegate\\-serve", "\\-\\-memory\\-max", "SLUICEGATE_MEMORY_MAX"] {
        assert!(serve.contains(word), "{word}: {serve}");
    }
    let (_, page, _) = run(&["man"]);
    assert_eq!(page, fs::read_to_string(folder.at("man/man1/sluicegate.1")).unwrap());
}

#[test]
fn a_folder_that_cannot_be_created_is_an_error() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    let (code, _, error) = run(&["man", "--out", &format!("{file}/man")]);
    assert_eq!(code, Some(1));
    assert!(error.starts_with("error: cannot create the folder `"), "{error}");
}

/// A reader that closes the pipe early is no error, as for `sluicegate completions bash | head`.
#[test]
fn a_closed_pipe_ends_without_an_error() {
    let mut child = super::program::sluicegate(&["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
