//! The memory store passes the conformance suite.

use sluicegate::Memory;
use sluicegate_conformance::{ManualClockStore, history, races, replay, walk};

/// The number of histories; `SLUICEGATE_HISTORIES=100000` for the long run.
fn rounds() -> usize {
    let chosen = std::env::var("SLUICEGATE_HISTORIES").ok().and_then(|rounds| rounds.parse().ok());
    chosen.unwrap_or(2_000)
}

#[test]
fn the_store_matches_the_vectors() {
    replay::vectors(|| ManualClockStore::new(Memory::with_clock));
}

#[test]
fn the_store_agrees_with_the_oracle() {
    walk::differential(|| ManualClockStore::new(Memory::with_clock), 1_000_000, 50_000);
}

#[test]
fn the_store_decides_in_one_step() {
    races::all(Memory::with_clock);
}

#[test]
fn the_store_is_linearizable() {
    history::all(Memory::with_clock, rounds());
}
