//! The core obeys the vectors and agrees with the oracle step by step.

use tollgate_conformance::{Bare, replay, walk};

/// Steps of the differential run; `TOLLGATE_STEPS=10000000` takes the long one.
fn steps() -> usize {
    let chosen = std::env::var("TOLLGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
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
