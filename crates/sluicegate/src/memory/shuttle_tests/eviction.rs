//! A full table that may not grow, so that new keys evict others.

use std::time::Duration;

use sluicegate_core::{Limit, Ruling};

use super::harness::Harness;
use super::keys::{Key, initial_keys, is_stuck_in_front, keys, name};
use super::limits::{BUCKET, LOG};
use super::runner::explore;
use super::step::{Step, StepResult, peek, take};
use crate::memory::page_state::home_of;

/// A store in which each new key in the first half of the first page evicts another.
fn full(limit: &'static Limit, initial_keys: &[Key]) -> Harness {
    let harness = Harness::with_pages(3);
    harness.run(&initial_keys.iter().map(|key| take(limit, *key)).collect::<Vec<Step>>());
    harness.store.table.slab.page(0).set_crowded();
    harness
}

/// An evicted key starts afresh with one capacity more; no other key does.
fn assert_no_more_than_evicted(harness: &Harness, limit: &Limit, before: &[Key], taken: &[Key]) {
    let mut afresh = 0;
    let mut keys = [before, taken].concat();
    keys.sort_unstable();
    for admitted in keys.chunk_by(|one, other| one == other) {
        let admitted = admitted.len() as u64;
        afresh += admitted.div_ceil(limit.capacity()) - 1;
    }
    let forgotten = harness.store.forgotten();
    assert!(afresh <= forgotten, "{afresh} began again, {forgotten} were forgotten");
}

/// The keys of the admitted steps.
fn admitted<const N: usize>(steps: &[Vec<Step>; N], answers: &[Vec<StepResult>; N]) -> Vec<Key> {
    let asked = steps.iter().flatten().zip(answers.iter().flatten());
    let admitted = asked.filter(|(_, answer)| answer.applied.ruling == Ruling::Admitted);
    admitted.flat_map(|(step, _)| step.taken()).collect()
}

fn run_full<const N: usize>(limit: &'static Limit, initial_keys: &[Key], steps: &[Vec<Step>; N]) {
    let harness = full(limit, initial_keys);
    let answers = harness.run_threads(steps.clone());
    harness.assert_sound();
    assert!(harness.store.forgotten() > 0, "there was no room");
    assert_no_more_than_evicted(&harness, limit, initial_keys, &admitted(steps, &answers));
}

#[test]
fn only_evicted_keys_start_afresh() {
    let initial_keys = initial_keys(&BUCKET);
    let [a, b] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let steps = [
            vec![take(&BUCKET, a), take(&BUCKET, a), take(&BUCKET, initial_keys[0])],
            vec![take(&BUCKET, b), take(&BUCKET, a), take(&BUCKET, b)],
            vec![take(&BUCKET, initial_keys[0]), take(&BUCKET, initial_keys[1]), take(&BUCKET, a)],
        ];
        run_full(&BUCKET, &initial_keys, &steps);
    });
}

#[test]
fn a_set_evicts_other_keys_and_never_its_own() {
    let initial_keys = initial_keys(&BUCKET);
    let [a, b, c] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let steps = [
            vec![take(&BUCKET, a).and(take(&BUCKET, b)), take(&BUCKET, c)],
            vec![take(&BUCKET, b).and(take(&BUCKET, c)).and(take(&BUCKET, a))],
            vec![take(&BUCKET, initial_keys[0]).and(take(&BUCKET, a)), peek(&BUCKET, b)],
        ];
        run_full(&BUCKET, &initial_keys, &steps);
    });
}

#[test]
fn records_of_evicted_keys_are_freed() {
    let initial_keys = initial_keys(&LOG);
    let [a, b] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let steps = [
            vec![take(&LOG, a), take(&LOG, initial_keys[0])],
            vec![take(&LOG, b).and(take(&LOG, a))],
            vec![take(&LOG, initial_keys[0]).and(take(&LOG, initial_keys[1])), take(&LOG, b)],
        ];
        run_full(&LOG, &initial_keys, &steps);
    });
}

fn recovered(limit: &'static Limit) {
    let initial_keys = initial_keys(limit);
    let [a, b] = keys(limit, is_stuck_in_front);
    explore(move || {
        let harness = full(limit, &initial_keys);
        // The cell that the first new key tries first.
        let cell = &harness.store.table.line(0, home_of(name(limit, a))).cells()[0];
        let first = initial_keys.iter().find(|key| cell.is_named(name(limit, **key)));
        let first = *first.unwrap();
        harness.clock.advance(Duration::from_secs(86_400));
        harness.run_threads([
            vec![take(limit, a), take(limit, initial_keys[1])],
            vec![take(limit, first), take(limit, b).and(take(limit, initial_keys[1]))],
        ]);
        harness.assert_sound();
        harness.assert_explained();
    });
}

#[test]
fn a_recovered_counter_makes_room_unless_it_is_used_again() {
    recovered(&BUCKET);
}

#[test]
fn a_record_that_has_recovered_makes_room_unless_it_is_used_again() {
    recovered(&LOG);
}
