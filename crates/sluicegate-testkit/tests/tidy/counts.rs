//! Numbers and lists in documents that count files of the tree.

use std::collections::BTreeSet;
use std::fs;

use super::tree::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the files in a folder that have this extension, without it.
fn names(folder: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter_map(|name| Some(name.strip_suffix(extension)?.to_owned())).collect()
}

/// A number below a million as documents write it.
fn grouped(number: usize) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

fn assert_says(document: &str, words: &str) {
    assert!(
        read(document).contains(words),
        "{document} has to say `{words}`: the tree has that many"
    );
}

#[test]
fn documents_count_the_vectors() {
    let files = names("vectors", ".json");
    let texts: Vec<String> =
        files.iter().map(|name| read(&format!("vectors/{name}.json"))).collect();
    let count = |words: &str| texts.iter().map(|text| text.matches(words).count()).sum();
    let (cases, steps) = (grouped(count("\"steps\": [")), grouped(count("{\"at\":")));
    assert_says("docs/testing.md", &format!("{cases} cases with {steps} steps"));
    assert_says("ARCHITECTURE.md", &format!("{steps} directed steps"));
}

#[test]
fn documents_count_the_invalid_bodies() {
    let mut bodies = 0;
    for file in ["bad_bodies", "bad_checks"] {
        let text = read(&format!("crates/sluicegate-server/tests/it/{file}.rs"));
        for list in text.split(": &[BadBody<'_>] = &[\n").skip(1) {
            let entries = list.lines().take_while(|line| *line != "];");
            bodies += entries.filter(|line| line.starts_with("    (")).count();
        }
    }
    assert_says("ARCHITECTURE.md", &format!("{bodies} bad bodies"));
}

/// The names in the first column of the tables of a section, in backquotes.
fn rows(document: &str, heading: &str) -> BTreeSet<String> {
    let text = read(document);
    let (_, section) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let lines = section.split("\n## ").next().unwrap_or_default().lines();
    let cells = lines.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    cells.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_patch_of_a_mistake_has_a_row() {
    let patches = names("crates/sluicegate-harness/mistakes", ".patch");
    let rows = rows("docs/testing.md", "### Mistakes that it finds");
    assert_eq!(rows, patches, "rows of docs/testing.md and files of mistakes/ differ");
}

#[test]
fn every_fuzz_target_has_a_row() {
    let targets = names("fuzz/fuzz_targets", ".rs");
    let rows = rows("docs/testing.md", "\n## Fuzzing");
    assert_eq!(rows, targets, "rows of docs/testing.md and files of fuzz_targets/ differ");
}
