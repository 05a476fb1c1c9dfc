//! Documents with random damage: reading them ends, and says something sensible.

use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::load::{Shelf, load};
use crate::report::Report;
use crate::shape;

const DOCUMENT: &str = "\u{feff}# Règles\ninclude: [other.yaml, 'x*']\nshared: &base\n  per: 1m\n  mode: observe\n\
rules:\n  - name: \"lögin\\n\"\n    limit: 1_000\n    <<: *base\n    match:\n      path: [/a, '/b']\n      x-a: ~\n\
  - {name: ${SET}, limit: 5, per: ${NO:-30s}, enabled: yes}\n  - name: |\n      long\n      text\n    limit: >-\n      7\n\
tiers: {gold: 1, \"日本\": 2}\nnotes:\n- 1\n-\n  - 'it''s'\n";

/// A small generator of numbers (`SplitMix64`), so that every run sees the same documents.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

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

fn damaged(dice: &mut Dice) -> String {
    let mut letters = DOCUMENT.chars().collect::<Vec<_>>();
    for _ in 0..=dice.below(4) {
        let at = dice.below(letters.len() + 1);
        let end = (at + dice.below(8)).min(letters.len());
        match dice.below(4) {
            0 => drop(letters.drain(at..end)),
            1 => letters.truncate(at.max(1)),
            2 => {
                let copied = letters[at..end].to_vec();
                let to = dice.below(letters.len() + 1);
                letters.splice(to..to, copied);
            }
            _ => drop(letters.splice(at..at, PIECES[dice.below(PIECES.len())].chars())),
        }
    }
    letters.into_iter().collect()
}

#[test]
fn damaged_documents_are_read_without_panic_and_marked_inside_their_text() {
    let mut dice = Dice(1);
    let env = |name: &str| (name == "SET").then(|| "hunter2".to_owned());
    let mut with_findings = 0;
    for _ in 0..1_000 {
        let text = damaged(&mut dice);
        let shelf = Shelf::new().with("rules.yaml", text.as_str()).with("other.yaml", "rules: 1");
        let mut loaded = load(Path::new("rules.yaml"), &shelf, &env);
        for document in &loaded.documents {
            shape::check(&document.root, &shape::tests::FILE, &mut loaded.findings);
            inside(&document.root, &loaded.sources);
        }
        let report = Report::new(loaded.sources, loaded.findings);
        for finding in report.findings() {
            let others = finding.related_places().iter().map(|(span, _)| *span);
            for span in std::iter::once(finding.span()).chain(others) {
                let source = report.sources().text(span.source());
                assert!(source.get(span.range()).is_some(), "{span:?} of {text:?}");
            }
            assert!(!finding.message().contains("hunter2"), "{text:?}");
        }
        with_findings += usize::from(report.has_errors());
        let shown = report.render(false);
        assert!(!shown.contains(['\u{1b}', '\0', '\r', '\t', '\u{85}']), "{text:?}\n{shown:?}");
    }
    assert!(with_findings > 500, "{with_findings}");
}

fn inside(node: &Node, sources: &Sources) {
    let good = |span: Span| sources.text(span.source()).get(span.range()).is_some();
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
fn ten_thousand_rules_are_read_and_checked() {
    let mut text = "rules:\n".to_owned();
    for number in 0..10_000 {
        let _ = write!(
            text,
            "  - name: rule-{number}\n    limit: {number}\n    per: 30s\n    match:\n      path: [/a/{number}, '/b']\n      x-key: true\n"
        );
    }
    let shelf = Shelf::new().with("rules.yaml", text.as_str());
    #[allow(clippy::disallowed_methods, reason = "printed for a person, never compared")]
    let start = std::time::Instant::now();
    let mut loaded = load(Path::new("rules.yaml"), &shelf, &|_| None);
    let read = start.elapsed();
    let root = &loaded.documents[0].root;
    assert!(shape::check(root, &shape::tests::FILE, &mut loaded.findings));
    println!("{} bytes read in {read:?}, with the check {:?}", text.len(), start.elapsed());
    assert_eq!(root.get("rules").unwrap().items().len(), 10_000);
}
