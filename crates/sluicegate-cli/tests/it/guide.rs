//! Examples and outputs in `docs/rules.md`.

use std::fs;
use std::path::PathBuf;

use sluicegate_rules::RuleSet;

use super::program::{Folder, ended, sluicegate};

fn guide() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md")
}

/// A code block of the guide.
struct CodeBlock {
    kind: String,
    first: usize,
    end: usize,
}

fn blocks(lines: &[String]) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<CodeBlock> = None;
    for (index, line) in lines.iter().enumerate() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        match open.take() {
            Some(block) => blocks.push(CodeBlock { end: index, ..block }),
            None => open = Some(CodeBlock { kind: kind.to_owned(), first: index + 1, end: 0 }),
        }
    }
    blocks
}

/// Words of a command, single quotes around those with spaces.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate();
    quoted
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

fn output(folder: &Folder, command: &str) -> String {
    let words = words(command.strip_prefix("$ sluicegate ").unwrap());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (_, out, error) = ended(sluicegate(&words).current_dir(folder.path()));
    out + &error
}

/// `SLUICEGATE_WRITE=1` writes the current outputs into the guide.
#[test]
fn documented_outputs_are_current() {
    let folder = Folder::new();
    let text = fs::read_to_string(guide()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (mut shown, mut moved) = (0, 0_isize);
    let at = |line: usize, moved: isize| line.checked_add_signed(moved).unwrap();
    for block in blocks(&lines.clone()) {
        let (first, end) = (at(block.first, moved), at(block.end, moved));
        let content = lines[first..end].join("\n") + "\n";
        if block.kind == "yaml" && content.contains("rules:") {
            folder.write("rules.yaml", &content);
        }
        if block.kind == "console" {
            let output = output(&folder, &lines[first]);
            let fresh: Vec<String> =
                output.trim_end().lines().map(|line| line.trim_end().to_owned()).collect();
            shown += 1;
            moved +=
                isize::try_from(fresh.len()).unwrap() - isize::try_from(end - first - 1).unwrap();
            lines.splice(first + 1..end, fresh);
        }
    }
    assert!(shown >= 3, "the guide has commands");
    let fresh = lines.join("\n") + "\n";
    if std::env::var_os("SLUICEGATE_WRITE").is_some() {
        fs::write(guide(), &fresh).unwrap();
    }
    let differing = text.lines().zip(fresh.lines()).find(|(shown, current)| shown != current);
    assert_eq!(differing, None, "run this test with SLUICEGATE_WRITE=1 to update the guide");
    assert_eq!(text.len(), fresh.len());
}

#[test]
fn documented_files_are_valid() {
    let text = fs::read_to_string(guide()).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut files = 0;
    for block in blocks(&lines).iter().filter(|block| block.kind == "yaml") {
        let content = lines[block.first..block.end].join("\n");
        let whole = ["identify:", "rules:"].iter().any(|field| content.starts_with(field));
        // Skips files that name other files; one block has intentional errors.
        if whole && !content.contains("_file:") && !content.contains("table: callers.csv") {
            files += 1;
            let wrong = content.contains("sekret");
            let read = RuleSet::parse(&content);
            assert_eq!(read.is_err(), wrong, "line {}: {read:?}", block.first);
        }
    }
    assert!(files >= 3, "the guide has files");
}
