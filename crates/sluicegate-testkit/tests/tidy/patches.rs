//! The patches of mistakes that the harness has to find.

use std::fs;
use std::process::Command;

use super::tree::root;

#[test]
fn patches_of_mistakes_apply() {
    let folder = root().join("crates/sluicegate-harness/mistakes");
    let mut broken = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mut git = Command::new("git");
        let output =
            git.args(["apply", "--check"]).arg(&path).current_dir(root()).output().unwrap();
        count += 1;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            broken.push(format!("{}: {why}", path.file_name().unwrap().to_string_lossy()));
        }
    }
    assert!(count > 50, "{count} patches");
    assert!(
        broken.is_empty(),
        "a patch that does not apply proves nothing; adapt it to the code:\n{}",
        broken.join("\n")
    );
}
