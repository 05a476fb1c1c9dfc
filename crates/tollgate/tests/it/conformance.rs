//! The plain store passes what every store must pass.

use tollgate::Memory;
use tollgate_conformance::{Driven, races, replay, walk};

#[test]
fn the_plain_store_obeys_the_vectors() {
    replay::vectors(|| Driven::new(Memory::with_clock));
}

#[test]
fn the_plain_store_agrees_with_the_oracle() {
    walk::differential(|| Driven::new(Memory::with_clock), 1_000_000, 50_000);
}

#[test]
fn the_plain_store_decides_in_one_step() {
    races::all(Memory::with_clock);
}
