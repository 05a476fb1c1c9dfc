//! The bare core obeys the vectors and agrees with the oracle step by step.

use sluicegate_conformance::{Bare, replay, walk};

/// Steps of the differential run; `SLUICEGATE_STEPS=10000000` takes the long one.
fn steps() -> usize {
    let chosen = std::env::var("SLUICEGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(200_000)
}

#[test]
fn the_core_obeys_the_vectors() {
    replay::vectors(Bare::default);
}

#[test]
fn the_core_agrees_with_the_oracle() {
    walk::differential(Bare::default, 0, steps());
}

#[test]
fn the_vectors_are_what_the_oracle_writes() {
    let folder = replay::vector_paths();
    let written: Vec<_> = sluicegate_oracle::directed::vector_files();
    assert_eq!(folder.len(), written.len(), "no file is missing or left over");
    for (name, file) in written {
        let path = folder.iter().find(|path| path.ends_with(name)).expect("a file of that name");
        let found = std::fs::read_to_string(path).expect("vectors can be read");
        assert!(found == sluicegate_oracle::text::to_text(&file), "{name}: write the vectors anew");
    }
}
