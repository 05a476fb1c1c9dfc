//! Every mistake is shown where it is, with a reason and a way out: files with mistakes, and beside
//! each the report that its author would read.
//!
//! `SLUICEGATE_WRITE=1 cargo test -p sluicegate-rules --test it diagnostics` writes the reports anew; then
//! read them as somebody would who made that mistake at night.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sluicegate_rules::{Report, RuleFile, Severity};

use crate::files::{self, folder};

mod codes;
mod secrets;

/// What a file came to.
struct Reading {
    name: String,
    report: Report,
    has_rules: bool,
}

/// The files with mistakes, each read once for all tests: some take long.
fn bad() -> &'static [Reading] {
    static READ: OnceLock<Vec<Reading>> = OnceLock::new();
    READ.get_or_init(|| readings("bad"))
}

fn readings(sort: &str) -> Vec<Reading> {
    let read = |case: files::Case| {
        let RuleFile { rules, report, .. } = case.load();
        Reading { name: case.name, report, has_rules: rules.is_some() }
    };
    files::cases(sort).into_iter().map(read).collect()
}

/// What the reports beside the files say, with this many in each folder at least.
fn reports_are_as_written(name: &str, cases: &[Reading], at_least: usize) {
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
    assert!(wrong.is_empty(), "other reports than written:\n{}", wrong.join("\n"));
}

fn write_or_remove(path: &Path, text: &str) {
    if text.is_empty() {
        // A report of nothing has no file.
        let _ = fs::remove_file(path);
    } else {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn good_files_are_read_without_a_word() {
    let good = readings("good");
    reports_are_as_written("good", &good, 8);
    for case in good {
        assert!(case.has_rules && !case.report.has_errors(), "{}: {}", case.name, case.report);
    }
}

#[test]
fn bad_files_are_answered_with_their_reports() {
    reports_are_as_written("bad", bad(), 40);
    for case in bad() {
        assert!(!case.report.findings().is_empty(), "{} has no finding", case.name);
        assert_eq!(case.has_rules, !case.report.has_errors(), "{}", case.name);
    }
}

#[test]
fn reports_belong_to_files() {
    for name in ["good", "bad"] {
        let known: BTreeSet<String> =
            files::cases(name).into_iter().map(|case| case.name).collect();
        for entry in fs::read_dir(folder(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                assert!(known.contains(&stem), "{} belongs to no file", path.display());
            }
        }
    }
}

/// What a program says to itself, and nobody else understands.
fn programmers_words(text: &str) -> Option<&'static str> {
    const WORDS: [&str; 14] = [
        "Some(", "None,", "Ok(", "Err(", "Box<", "Kind::", "Error {", "Error(", "struct ", "usize",
        "u64", "unwrap", "Option<", "core::",
    ];
    WORDS.into_iter().find(|word| text.contains(word)).or_else(|| {
        // `Name { field`: how the values of types are printed.
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
fn messages_are_for_people() {
    for case in bad() {
        for finding in case.report.findings() {
            let related = finding.related_places().iter().map(|(_, text)| text.as_str());
            let texts =
                [finding.message(), finding.label_text(), finding.help_text().unwrap_or("")];
            for text in texts.into_iter().chain(related) {
                assert_eq!(programmers_words(text), None, "{}: {text}", case.name);
                assert!(text.len() < 600, "{}: {text}", case.name);
                assert!(!text.ends_with('.'), "a phrase, not a sentence: {}: {text}", case.name);
            }
            let first = finding.message().chars().next();
            assert!(
                first.is_some_and(|letter| !letter.is_uppercase()),
                "{}: {}",
                case.name,
                finding.message()
            );
        }
    }
}

#[test]
fn every_error_says_what_would_be_right() {
    for case in bad() {
        for finding in case.report.findings() {
            let says = finding.help_text().is_some()
                || ["; ", "expected ", "cannot be read"]
                    .iter()
                    .any(|word| finding.message().contains(word))
                || !finding.related_places().is_empty()
                || ["too-deep", "too-large"].contains(&finding.code());
            assert!(says, "{}: {} ({})", case.name, finding.message(), finding.code());
        }
    }
}

#[test]
fn findings_lie_in_their_texts_and_in_order() {
    for case in bad() {
        let report = &case.report;
        let findings = report.findings();
        assert!(findings.is_sorted_by_key(sluicegate_rules::Finding::span), "{}", case.name);
        for finding in findings {
            let text = report.sources().text(finding.span().source());
            assert!(
                text.get(finding.span().range()).is_some(),
                "{}: {}",
                case.name,
                finding.message()
            );
            for (span, _) in finding.related_places() {
                assert!(
                    report.sources().text(span.source()).get(span.range()).is_some(),
                    "{}",
                    case.name
                );
            }
        }
        let errors =
            findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
        assert_eq!(errors, report.errors(), "{}", case.name);
    }
}

#[test]
fn colours_change_nothing_but_colours() {
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
fn a_file_that_is_not_there_is_no_report_but_a_failure() {
    let missing = PathBuf::from("no/such/file.yaml");
    let failure = RuleFile::load(&missing).unwrap_err();
    assert_eq!(failure.to_string(), "`no/such/file.yaml` cannot be read: there is no such file");
    assert_eq!(failure.path(), missing);
}
