//! Links between documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::tree::{files, root};

#[test]
fn links_in_documents_resolve() {
    let mut broken = Vec::new();
    for source in files(&["md"]) {
        for target in targets(&source.text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = root().join(Path::new(&source.path).parent().unwrap());
            let file = if path.is_empty() { root().join(&source.path) } else { folder.join(path) };
            if !file.exists() {
                broken.push(format!("{}: `{target}`: there is no such file", source.path));
            } else if !anchor.is_empty() && !has_anchor(&file, anchor) {
                broken.push(format!("{}: `{target}`: there is no such heading", source.path));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "a reader that follows these links gets lost:\n{}",
        broken.join("\n")
    );
}

/// The targets of inline links outside of code blocks.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (index, block) in text.split("\n```").enumerate() {
        if index % 2 == 1 {
            continue;
        }
        for (at, _) in block.match_indices("](") {
            let rest = &block[at + 2..];
            found.extend(
                rest.split(')').next().filter(|target| !target.contains(char::is_whitespace)),
            );
        }
    }
    found
}

fn has_anchor(file: &PathBuf, anchor: &str) -> bool {
    if file.extension().is_none_or(|extension| extension != "md") {
        return anchor.starts_with('L');
    }
    let text = fs::read_to_string(file).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchors: BTreeSet<String> = headings.map(anchor_of).collect();
    anchors.contains(anchor)
}

/// The anchor that renderers make of a heading.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
