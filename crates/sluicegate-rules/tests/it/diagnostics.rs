//! Reports about rule files with mistakes: place, reason and fix.
//!
//! Each file in `tests/files` has its expected report beside it. Regenerate the reports with
//! `SLUICEGATE_WRITE=1 cargo test -p sluicegate-rules --test it diagnostics`; then read them from
//! the point of view of an operator that has made the mistake.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sluicegate_rules::{Report, RuleFile, Severity};

use crate::rule_files::{self, folder};

mod codes;
mod secrets;

/// A loaded file.
struct LoadedFile {
    name: String,
    report: Report,
    has_rules: bool,
}

/// The files with mistakes, each read once for all tests because some take long.
fn bad() -> &'static [LoadedFile] {
    static READ: OnceLock<Vec<LoadedFile>> = OnceLock::new();
    READ.get_or_init(|| readings("bad"))
}

fn readings(sort: &str) -> Vec<LoadedFile> {
    let read = |case: rule_files::Case| {
        let RuleFile { rules, report, .. } = case.load();
        LoadedFile { name: case.name, report, has_rules: rules.is_some() }
    };
    rule_files::cases(sort).into_iter().map(read).collect()
}

/// Compares the reports with the expected ones, of which there are at least so many.
fn assert_reports(name: &str, cases: &[LoadedFile], at_least: usize) {
    assert!(cases.len() >= at_least, "{} cases in {name}", cases.len());
    let write = std::env::var_os("SLUICEGATE_WRITE").is_some();
    let mut wrong = Vec::new();
    for case in cases {
        let found = case.report.render(false);
        let beside = folder(name).join(format!("{}.txt", case.name));
        if write {
            write_or_remove(&beside, &found);
        } else if found != fs::read_to_string(&beside).unwrap_or_default() {
            wrong.push(format!("== {}\n{found}", case.name));
        }
    }
    assert!(wrong.is_empty(), "unexpected reports:\n{}", wrong.join("\n"));
}

fn write_or_remove(path: &Path, text: &str) {
    if text.is_empty() {
        // An empty report has no file.
        let _ = fs::remove_file(path);
    } else {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn good_files_have_no_errors() {
    let good = readings("good");
    assert_reports("good", &good, 8);
    for case in good {
        assert!(case.has_rules && !case.report.has_errors(), "{}: {}", case.name, case.report);
    }
}

#[test]
fn bad_files_have_their_reports() {
    assert_reports("bad", bad(), 40);
    for case in bad() {
        assert!(!case.report.diagnostics().is_empty(), "{} has no diagnostic", case.name);
        assert_eq!(case.has_rules, !case.report.has_errors(), "{}", case.name);
    }
}

#[test]
fn reports_belong_to_files() {
    for name in ["good", "bad"] {
        let known: BTreeSet<String> =
            rule_files::cases(name).into_iter().map(|case| case.name).collect();
        for entry in fs::read_dir(folder(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                assert!(known.contains(&stem), "{} belongs to no file", path.display());
            }
        }
    }
}

/// Finds an expression of source code in a text for users.
fn source_code_in(text: &str) -> Option<&'static str> {
    const WORDS: [&str; 14] = [
        "Some(", "None,", "Ok(", "Err(", "Box<", "Kind::", "Error {", "Error(", "struct ", "usize",
        "u64", "unwrap", "Option<", "core::",
    ];
    WORDS.into_iter().find(|word| text.contains(word)).or_else(|| {
        // `Name { field`: the debug output of a type.
        let named = |(at, _): (usize, &str)| {
            let before =
                text[..at].rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or("");
            let after = text[at + 3..].starts_with(|letter: char| letter.is_ascii_lowercase());
            before.starts_with(|letter: char| letter.is_ascii_uppercase()) && after
        };
        text.match_indices(" { ").any(named).then_some("Name { field")
    })
}

#[test]
fn messages_contain_no_source_code() {
    for case in bad() {
        for diagnostic in case.report.diagnostics() {
            let related = diagnostic.related_places().iter().map(|(_, text)| text.as_str());
            let texts = [
                diagnostic.message(),
                diagnostic.label_text(),
                diagnostic.help_text().unwrap_or(""),
            ];
            for text in texts.into_iter().chain(related) {
                assert_eq!(source_code_in(text), None, "{}: {text}", case.name);
                assert!(text.len() < 600, "{}: {text}", case.name);
                assert!(!text.ends_with('.'), "a phrase, not a sentence: {}: {text}", case.name);
            }
            let first = diagnostic.message().chars().next();
            assert!(
                first.is_some_and(|letter| !letter.is_uppercase()),
                "{}: {}",
                case.name,
                diagnostic.message()
            );
        }
    }
}

#[test]
fn every_error_names_a_fix() {
    for case in bad() {
        for diagnostic in case.report.diagnostics() {
            let has_fix = diagnostic.help_text().is_some()
                || ["; ", "expected ", "cannot be read"]
                    .iter()
                    .any(|word| diagnostic.message().contains(word))
                || !diagnostic.related_places().is_empty()
                || ["too-deep", "too-large"].contains(&diagnostic.code());
            assert!(has_fix, "{}: {} ({})", case.name, diagnostic.message(), diagnostic.code());
        }
    }
}

#[test]
fn spans_are_within_their_texts_and_sorted() {
    for case in bad() {
        let report = &case.report;
        let diagnostics = report.diagnostics();
        assert!(diagnostics.is_sorted_by_key(sluicegate_rules::Diagnostic::span), "{}", case.name);
        for diagnostic in diagnostics {
            let text = report.sources().text(diagnostic.span().source());
            assert!(
                text.get(diagnostic.span().range()).is_some(),
                "{}: {}",
                case.name,
                diagnostic.message()
            );
            for (span, _) in diagnostic.related_places() {
                assert!(
                    report.sources().text(span.source()).get(span.range()).is_some(),
                    "{}",
                    case.name
                );
            }
        }
        let errors = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity() == Severity::Error)
            .count();
        assert_eq!(errors, report.errors(), "{}", case.name);
    }
}

#[test]
fn coloured_reports_have_the_same_text() {
    for case in bad() {
        let report = &case.report;
        let (plain, coloured) = (report.render(false), report.render(true));
        assert!(!plain.contains('\u{1b}'), "{}", case.name);
        assert!(coloured.contains('\u{1b}'), "{}", case.name);
        assert_eq!(without_colours(&coloured), plain, "{}", case.name);
    }
}

fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[test]
fn a_missing_file_is_an_error_without_a_report() {
    let missing = PathBuf::from("no/such/file.yaml");
    let failure = RuleFile::load(&missing).unwrap_err();
    assert_eq!(failure.to_string(), "`no/such/file.yaml` cannot be read: there is no such file");
    assert_eq!(failure.path(), missing);
}
