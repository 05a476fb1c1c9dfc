//! Each algorithm exists everywhere: core, Lua, oracle, vectors and documents.

use std::fs;

use super::tree::root;

/// Algorithms as rule files spell them, with the files of core, Lua and oracle that implement them.
const ALGORITHMS: [(&str, &str, &str, &str); 8] = [
    ("token_bucket", "bucket", "bucket", "meter"),
    ("leaky_bucket", "bucket", "bucket", "meter"),
    ("queue", "queue", "queue", "meter"),
    ("fixed_window", "fixed_window", "fixed_window", "fixed_window"),
    ("sliding_window", "sliding_window", "sliding_window", "sliding_window"),
    ("sliding_log", "sliding_log", "sliding_log", "sliding_log"),
    ("concurrency", "concurrency", "concurrency", "concurrency"),
    ("cooldown", "cooldown", "cooldown", "cooldown"),
];
/// What algorithms share.
const SHARED: [&str; 1] = ["timestamps"];

#[test]
fn every_algorithm_has_a_lua_script_vectors_and_a_row_in_the_documents() {
    let table = fs::read_to_string(root().join("docs/algorithms.md")).unwrap();
    let rules = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    for (name, core, lua, oracle) in ALGORITHMS {
        for file in [
            format!("crates/sluicegate-core/src/algorithm/{core}.rs"),
            format!("crates/sluicegate-redis/lua/{lua}.lua"),
            format!("crates/sluicegate-oracle/src/oracle/{oracle}.rs"),
            format!("vectors/{name}.json"),
        ] {
            assert!(root().join(&file).exists(), "{name}: {file} is missing");
        }
        let quoted = format!("`{name}`");
        assert!(table.contains(&quoted), "docs/algorithms.md says no bound for {quoted}");
        assert!(rules.contains(name), "docs/rules.md does not mention {quoted}");
    }
}

#[test]
fn every_file_of_an_algorithm_is_known_here() {
    for entry in fs::read_dir(root().join("crates/sluicegate-core/src/algorithm")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let known = ALGORITHMS.iter().any(|(_, core, ..)| *core == name);
        assert!(
            known || SHARED.contains(&name.as_str()),
            "{name}: add it to `ALGORITHMS` here, so that its Lua script, vectors and documents are \
             required"
        );
    }
}
