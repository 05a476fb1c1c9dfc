//! The bare core agrees with the vectors and with the oracle.

use sluicegate_conformance::{MapStore, replay, walk};

/// The number of steps; `SLUICEGATE_STEPS=10000000` for the long run.
fn steps() -> usize {
    let chosen = std::env::var("SLUICEGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(200_000)
}

#[test]
fn the_core_matches_the_vectors() {
    replay::vectors(MapStore::default);
}

#[test]
fn the_core_agrees_with_the_oracle() {
    walk::differential(MapStore::default, 0, steps());
}

#[test]
fn the_vectors_are_up_to_date() {
    let folder = replay::vector_paths();
    let written: Vec<_> = sluicegate_oracle::directed::vector_files();
    assert_eq!(folder.len(), written.len(), "no file is missing or left over");
    for (name, file) in written {
        let path = folder.iter().find(|path| path.ends_with(name)).expect("a file of that name");
        let found = std::fs::read_to_string(path).expect("vectors can be read");
        assert!(found == sluicegate_oracle::text::to_text(&file), "{name}: regenerate the vectors");
    }
}
