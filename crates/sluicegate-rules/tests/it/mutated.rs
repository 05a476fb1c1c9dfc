//! Good files with one thing changed: each is still good, or it is answered where it was changed.

mod change;
mod places;

use std::collections::BTreeMap;

use sluicegate_rules::RuleFile;

use self::change::Change;
use self::places::Around;
use crate::files::{self, Case, variable};
use crate::random::Random;

/// How many files are changed.
const FILES: usize = 400;

/// Files worth changing: those with something in them.
fn originals() -> Vec<(Case, String)> {
    let read = |case: Case| {
        let text = case.text("good");
        (case, text)
    };
    let cases = files::cases("good").into_iter().map(read);
    let policies = files::policies().into_iter().map(|case| {
        let text = case.text("policies");
        (case, text)
    });
    cases.chain(policies).filter(|(_, text)| text.lines().count() > 5).collect()
}

#[test]
fn one_change_is_answered_where_it_was_made_or_leaves_a_good_file() {
    let originals = originals();
    assert!(originals.len() >= 6);
    let mut random = Random::new(7);
    let mut answered: BTreeMap<Change, (usize, usize)> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for number in 0..FILES {
        let (case, text) = &originals[number % originals.len()];
        let change = Change::ALL[(number / originals.len()) % Change::ALL.len()];
        let Some((changed, line)) = change.made(text, &mut random) else { continue };
        let file = case.load_instead(&changed, &variable);
        let (errors, tried) = answered.entry(change).or_default();
        *tried += 1;
        *errors += usize::from(file.report.has_errors());
        if !is_answered(&file, text, &changed, line) {
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
        "{} answered elsewhere:\n{}",
        elsewhere.len(),
        elsewhere.join("\n")
    );
    let tried: usize = answered.values().map(|(_, tried)| tried).sum();
    let errors: usize = answered.values().map(|(errors, _)| errors).sum();
    assert!(tried >= 200, "{tried} files were changed");
    assert!(errors * 2 > tried, "{errors} of {tried} changes were noticed: {answered:?}");
}

/// Whether the file is good, or some finding lies around the change.
fn is_answered(file: &RuleFile, before: &str, after: &str, line: usize) -> bool {
    let findings = file.report.findings();
    if !file.report.has_errors() {
        return true;
    }
    let around = Around::line(before, after, line);
    let lines = [before, after].map(|text| text.lines().nth(line - 1).unwrap_or(""));
    findings.iter().any(|finding| {
        // What was defined there is missed elsewhere, by its name.
        let misses = ["unknown-tier", "unknown-rule", "missing-in-tier"].contains(&finding.code());
        let names = finding.message().split('`').skip(1).step_by(2);
        let told = finding.help_text().unwrap_or("").split('`').skip(1).step_by(2);
        if misses && names.chain(told).any(|name| lines.iter().any(|line| line.contains(name))) {
            return true;
        }
        let place = file.report.locate(finding);
        let related =
            finding.related_places().iter().map(|(span, _)| file.report.sources().place(*span));
        std::iter::once(place).chain(related).any(|place| around.meets(place.line, place.end_line))
    })
}

#[test]
fn files_cut_off_anywhere_are_read_without_panic() {
    for (case, text) in originals() {
        for end in (0..text.len()).step_by(29).filter(|end| text.is_char_boundary(*end)) {
            let file = case.load_instead(&text[..end], &variable);
            for finding in file.report.findings() {
                let place = file.report.locate(finding);
                assert!(place.line <= place.end_line, "{}", case.name);
            }
        }
    }
}
