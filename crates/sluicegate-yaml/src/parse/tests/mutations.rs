//! Tests with randomly damaged documents: no panic, and spans within the text.

use std::fmt::Write as _;

use super::*;
use crate::Report;
use crate::schema::{self, validate};
use sluicegate_testkit::Rng;

const DOCUMENT: &str = "\u{feff}# Règles\ninclude: [other.yaml, 'x*']\nshared: &base\n  per: 1m\n  mode: observe\n\
rules:\n  - name: \"lögin\\n\"\n    limit: 1_000\n    <<: *base\n    match:\n      path: [/a, '/b']\n      x-a: ~\n\
  - {name: ${SET}, limit: 5, per: ${NO:-30s}, enabled: yes}\n  - name: |\n      long\n      text\n    limit: >-\n      7\n\
tiers: {gold: 1, \"日本\": 2}\nnotes:\n- 1\n-\n  - 'it''s'\n";

const PIECES: &[&str] = &[
    ":",
    ": ",
    "- ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "'",
    "\"",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a ",
    "*base",
    "!!str ",
    "? ",
    "| ",
    ">",
    "#",
    " #",
    "%",
    "@",
    "`",
    "\\",
    "$",
    "${",
    "${SET}",
    "${NO}",
    "}",
    "---\n",
    "...\n",
    "<<: ",
    "~",
    "é",
    "\u{1b}",
    "\0",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "☃",
    "name: ",
    "rules:\n",
    "include: rules.yaml\n",
];

fn damaged(rng: &mut Rng) -> String {
    let mut letters = DOCUMENT.chars().collect::<Vec<_>>();
    for _ in 0..=rng.index(4) {
        let at = rng.index(letters.len() + 1);
        let end = (at + rng.index(8)).min(letters.len());
        match rng.index(4) {
            0 => drop(letters.drain(at..end)),
            1 => letters.truncate(at.max(1)),
            2 => {
                let copied = letters[at..end].to_vec();
                let to = rng.index(letters.len() + 1);
                letters.splice(to..to, copied);
            }
            _ => drop(letters.splice(at..at, PIECES[rng.index(PIECES.len())].chars())),
        }
    }
    letters.into_iter().collect()
}

#[test]
fn damaged_documents_cause_no_panic_and_spans_are_within_the_text() {
    let mut rng = Rng::new(1);
    let env = |name: &str| (name == "SET").then(|| "hunter2".to_owned());
    let mut with_findings = 0;
    for _ in 0..1_000 {
        let text = damaged(&mut rng);
        let mut sources = SourceMap::default();
        let mut diagnostics = Diagnostics::default();
        let source = sources.add("rules.yaml", text.as_str());
        if let Some(root) = parse(source, sources.text(source), &env, &mut diagnostics) {
            validate(&root, &schema::tests::FILE, &mut diagnostics);
            inside(&root, &sources);
        }
        let report = Report::new(sources, diagnostics);
        for diagnostic in report.diagnostics() {
            let others = diagnostic.related_places().iter().map(|(span, _)| *span);
            for span in std::iter::once(diagnostic.span()).chain(others) {
                let source = report.sources().text(span.source());
                assert!(source.get(span.range()).is_some(), "{span:?} of {text:?}");
            }
            assert!(!diagnostic.message().contains("hunter2"), "{text:?}");
        }
        with_findings += usize::from(report.has_errors());
        let shown = report.render(false);
        assert!(!shown.contains(['\u{1b}', '\0', '\r', '\t', '\u{85}']), "{text:?}\n{shown:?}");
    }
    assert!(with_findings > 500, "{with_findings}");
}

fn inside(node: &Node, sources: &SourceMap) {
    let good = |span: SourceSpan| sources.text(span.source()).get(span.range()).is_some();
    assert!(good(node.span), "{node:?}");
    for entry in node.entries() {
        assert!(good(entry.key.span), "{entry:?}");
        inside(&entry.value, sources);
    }
    if let Value::List(items) = &node.value {
        for item in items {
            inside(item, sources);
        }
    }
}

#[test]
fn reads_and_validates_ten_thousand_rules() {
    let mut text = "rules:\n".to_owned();
    for number in 0..10_000 {
        let _ = write!(
            text,
            "  - name: rule-{number}\n    limit: {number}\n    per: 30s\n    match:\n      path: [/a/{number}, '/b']\n      x-key: true\n"
        );
    }
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let source = sources.add("rules.yaml", text.as_str());
    let root = parse(source, sources.text(source), &|_| None, &mut diagnostics).unwrap();
    assert!(validate(&root, &schema::tests::FILE, &mut diagnostics));
    assert_eq!(root.get("rules").unwrap().items().len(), 10_000);
}
