//! Every kind of mistake there is occurs in some file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::bad;

/// Kinds of mistakes that are not written as the first words of a call.
const ELSEWHERE: [&str; 2] = ["syntax", "unknown-value"];
/// Kinds of mistakes that files in this folder cannot make, each with its reason.
const NOT_HERE: [&str; 2] = [
    // Only a program that was built without tokens says so.
    "no-tokens",
    // A net below all others: a rule that is not understood was told off before.
    "lost-rule",
];

/// What a code looks like: words with dashes.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.split('-').all(|word| {
            !word.is_empty()
                && word.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        })
}

/// The codes that a source file gives to findings.
fn codes_in(source: &str) -> Vec<String> {
    const CALLS: [&str; 5] = ["error(", "error_at(", "warn_at(", "warning(", "note("];
    let mut codes = Vec::new();
    for call in CALLS {
        for (at, _) in source.match_indices(call) {
            let arguments = &source[at + call.len()..];
            let end = arguments.find([';', '{']).unwrap_or(arguments.len());
            let mut texts = arguments[..end].split('"');
            let (Some(before), Some(text)) = (texts.next(), texts.next()) else { continue };
            if before.trim_end().ends_with(',') {
                codes.push(text.to_owned());
            }
        }
    }
    codes
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs"
        {
            found.push(path);
        }
    }
}

fn codes() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 80, "{} source files", files.len());
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let read = texts.flat_map(|text| codes_in(&text)).filter(|code| !code.contains(' '));
    let codes: BTreeSet<String> = read.chain(ELSEWHERE.map(str::to_owned)).collect();
    assert!(codes.len() > 90, "{codes:?}");
    codes
}

#[test]
fn codes_are_words_with_dashes() {
    for code in codes() {
        assert!(is_code(&code), "{code}");
    }
    for case in bad() {
        for finding in case.report.findings() {
            assert!(is_code(finding.code()), "{}", finding.code());
        }
    }
}

#[test]
fn every_kind_of_mistake_has_a_file() {
    let mut seen: BTreeSet<String> = NOT_HERE.map(str::to_owned).into();
    for case in bad() {
        seen.extend(case.report.findings().iter().map(|finding| finding.code().to_owned()));
    }
    let codes = codes();
    let unseen: Vec<&String> = codes.difference(&seen).collect();
    assert!(unseen.is_empty(), "no file makes these mistakes: {unseen:?}");
    let unknown: Vec<&String> = seen.difference(&codes).collect();
    assert!(unknown.is_empty(), "these codes were not found in the sources: {unknown:?}");
}
