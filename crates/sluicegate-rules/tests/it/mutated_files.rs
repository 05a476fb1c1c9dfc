//! Good files with one random change: each is valid, or has an error near the change.

mod change;
mod places;

use std::collections::BTreeMap;

use sluicegate_rules::RuleFile;

use self::change::Change;
use self::places::ChangedPlaces;
use crate::random::Random;
use crate::rule_files::{self, Case, variable};

/// The number of changed files.
const FILES: usize = 400;

/// The files to change, which have more than a few lines.
fn originals() -> Vec<(Case, String)> {
    let read = |case: Case| {
        let text = case.text("good");
        (case, text)
    };
    let cases = rule_files::cases("good").into_iter().map(read);
    let policies = rule_files::policies().into_iter().map(|case| {
        let text = case.text("policies");
        (case, text)
    });
    cases.chain(policies).filter(|(_, text)| text.lines().count() > 5).collect()
}

#[test]
fn a_changed_file_is_valid_or_has_an_error_near_the_change() {
    let originals = originals();
    assert!(originals.len() >= 6);
    let mut random = Random::new(7);
    let mut reported: BTreeMap<Change, (usize, usize)> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for number in 0..FILES {
        let (case, text) = &originals[number % originals.len()];
        let change = Change::ALL[(number / originals.len()) % Change::ALL.len()];
        let Some((changed, line)) = change.apply(text, &mut random) else { continue };
        let file = case.load_instead(&changed, &variable);
        let (errors, tried) = reported.entry(change).or_default();
        *tried += 1;
        *errors += usize::from(file.report.has_errors());
        if !is_reported_nearby(&file, text, &changed, line) {
            let now = changed.lines().nth(line - 1).unwrap_or("");
            elsewhere.push(format!(
                "{} ({change:?} in line {line}):\n{now}\n{}",
                case.name, file.report
            ));
        }
        assert_eq!(file.rules.is_some(), !file.report.has_errors());
    }
    assert!(
        elsewhere.is_empty(),
        "{} reported elsewhere:\n{}",
        elsewhere.len(),
        elsewhere.join("\n")
    );
    let tried: usize = reported.values().map(|(_, tried)| tried).sum();
    let errors: usize = reported.values().map(|(errors, _)| errors).sum();
    assert!(tried >= 200, "{tried} files were changed");
    assert!(errors * 2 > tried, "{errors} of {tried} changes were reported: {reported:?}");
}

/// Whether the file is valid, or a diagnostic is near the change.
fn is_reported_nearby(file: &RuleFile, before: &str, after: &str, line: usize) -> bool {
    let diagnostics = file.report.diagnostics();
    if !file.report.has_errors() {
        return true;
    }
    let around = ChangedPlaces::line(before, after, line);
    let lines = [before, after].map(|text| text.lines().nth(line - 1).unwrap_or(""));
    diagnostics.iter().any(|diagnostic| {
        // A definition that was changed is reported as missing elsewhere, by its name.
        let is_missing_name =
            ["unknown-tier", "unknown-rule", "missing-in-tier"].contains(&diagnostic.code());
        let names = diagnostic.message().split('`').skip(1).step_by(2);
        let suggested = diagnostic.help_text().unwrap_or("").split('`').skip(1).step_by(2);
        if is_missing_name
            && names.chain(suggested).any(|name| lines.iter().any(|line| line.contains(name)))
        {
            return true;
        }
        let place = file.report.locate(diagnostic);
        let related =
            diagnostic.related_places().iter().map(|(span, _)| file.report.sources().place(*span));
        std::iter::once(place).chain(related).any(|place| around.meets(place.line, place.end_line))
    })
}

#[test]
fn truncated_files_cause_no_panic() {
    for (case, text) in originals() {
        for end in (0..text.len()).step_by(29).filter(|end| text.is_char_boundary(*end)) {
            let file = case.load_instead(&text[..end], &variable);
            for diagnostic in file.report.diagnostics() {
                let place = file.report.locate(diagnostic);
                assert!(place.line <= place.end_line, "{}", case.name);
            }
        }
    }
}
