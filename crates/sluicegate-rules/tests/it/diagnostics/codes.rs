//! Every code of a diagnostic occurs in the report of a test file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::bad;

/// Codes that are not literal arguments of a call.
const ELSEWHERE: [&str; 2] = ["syntax", "unknown-value"];
/// Codes that no test file can cause, each with its reason.
const NOT_HERE: [&str; 2] = [
    // Only a build without the feature `jwt` reports it.
    "no-tokens",
    // A safeguard: another error precedes it if a rule cannot be read.
    "lost-rule",
];

/// Whether a text has the format of a code: words with dashes.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text.split('-').all(|word| {
            !word.is_empty()
                && word.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        })
}

/// Returns the codes of diagnostics in a source file.
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
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["sluicegate-rules", "sluicegate-yaml"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
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
        for diagnostic in case.report.diagnostics() {
            assert!(is_code(diagnostic.code()), "{}", diagnostic.code());
        }
    }
}

#[test]
fn every_code_occurs_in_a_test_file() {
    let mut seen: BTreeSet<String> = NOT_HERE.map(str::to_owned).into();
    for case in bad() {
        seen.extend(
            case.report.diagnostics().iter().map(|diagnostic| diagnostic.code().to_owned()),
        );
    }
    let codes = codes();
    let unseen: Vec<&String> = codes.difference(&seen).collect();
    assert!(unseen.is_empty(), "no test file causes these codes: {unseen:?}");
    let unknown: Vec<&String> = seen.difference(&codes).collect();
    assert!(unknown.is_empty(), "codes that are not in the sources: {unknown:?}");
}
