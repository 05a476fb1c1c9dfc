//! Counts per crate that may only fall, recorded in `ratchet.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::{env, fs};

use super::tree::root;

const FILE: &str = "crates/sluicegate-testkit/tests/tidy/ratchet.txt";
/// Two tests may record their counts at the same time.
static WRITING: Mutex<()> = Mutex::new(());

type Counts = BTreeMap<String, usize>;

fn read() -> BTreeMap<String, Counts> {
    let text = fs::read_to_string(root().join(FILE)).unwrap_or_default();
    let mut all: BTreeMap<String, Counts> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rule, package, count] = words[..] else { panic!("{FILE}: cannot read `{line}`") };
        all.entry(rule.to_owned()).or_default().insert(package.to_owned(), count.parse().unwrap());
    }
    all
}

/// Fails if a count has risen, or has fallen and is not recorded.
pub(super) fn hold(rule: &str, found: &BTreeMap<String, Vec<String>>, why: &str) {
    let found: BTreeMap<&String, &Vec<String>> =
        found.iter().filter(|(_, places)| !places.is_empty()).collect();
    if env::var_os("SLUICEGATE_WRITE").is_some() {
        return write(rule, &found);
    }
    let recorded = read().remove(rule).unwrap_or_default();
    for (package, places) in &found {
        let most = recorded.get(*package).copied().unwrap_or(0);
        assert!(
            places.len() <= most,
            "{rule} in {package}: {} found, {most} recorded in {FILE}. {why}\n  {}",
            places.len(),
            places.join("\n  ")
        );
    }
    for (package, most) in recorded {
        let count = found.get(&package).map_or(0, |places| places.len());
        assert!(
            count == most,
            "{rule} in {package}: {count} found, {most} recorded. The count has fallen: record it with \
             `SLUICEGATE_WRITE=1 cargo test -p sluicegate-testkit --test tidy`, so that it stays low"
        );
    }
}

fn write(rule: &str, found: &BTreeMap<&String, &Vec<String>>) {
    let _only = WRITING.lock().unwrap();
    let mut all = read();
    for (package, places) in found {
        let before = all.get(rule).and_then(|counts| counts.get(*package)).copied();
        assert!(
            before.is_none_or(|before| places.len() <= before),
            "{rule} in {package}: {} found, {before:?} recorded; a count may only fall",
            places.len()
        );
    }
    let counts = found.iter().map(|(package, places)| ((*package).clone(), places.len()));
    all.insert(rule.to_owned(), counts.collect());
    let mut text = "# Rule, crate, count: counts may only fall.\n".to_owned();
    for (rule, counts) in &all {
        for (package, count) in counts {
            let _ = writeln!(text, "{rule} {package} {count}");
        }
    }
    fs::write(root().join(FILE), text).unwrap();
}
