//! The stores in memory pass what every store must pass.

use sluicegate::{Memory, PlainMemory};
use sluicegate_conformance::{Driven, history, races, replay, walk};

/// Rounds whose histories are explained; `SLUICEGATE_HISTORIES=100000` plays long.
fn rounds() -> usize {
    let chosen = std::env::var("SLUICEGATE_HISTORIES").ok().and_then(|rounds| rounds.parse().ok());
    chosen.unwrap_or(2_000)
}

#[test]
fn the_store_obeys_the_vectors() {
    replay::vectors(|| Driven::new(Memory::with_clock));
}

#[test]
fn the_store_agrees_with_the_oracle() {
    walk::differential(|| Driven::new(Memory::with_clock), 1_000_000, 50_000);
}

#[test]
fn the_store_decides_in_one_step() {
    races::all(Memory::with_clock);
}

#[test]
fn the_store_answers_threads_as_if_one_came_after_the_other() {
    history::all(Memory::with_clock, rounds());
}

#[test]
fn the_plain_store_obeys_the_vectors() {
    replay::vectors(|| Driven::new(PlainMemory::with_clock));
}

#[test]
fn the_plain_store_agrees_with_the_oracle() {
    walk::differential(|| Driven::new(PlainMemory::with_clock), 1_000_000, 50_000);
}

#[test]
fn the_plain_store_decides_in_one_step() {
    races::all(PlainMemory::with_clock);
}

#[test]
fn the_plain_store_answers_threads_as_if_one_came_after_the_other() {
    history::all(PlainMemory::with_clock, rounds());
}
