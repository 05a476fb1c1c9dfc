//! A full table that may not grow, so that new keys evict others.

use std::time::Duration;

use sluicegate_core::{Limit, Ruling};

use super::harness::Harness;
use super::keys::{Key, is_stuck_in_front, keys, name, residents};
use super::limits::{BUCKET, LOG};
use super::runner::explore;
use super::step::{Answer, Step, peek, take};
use crate::memory::page_state::home_of;

/// A store in which each new key in the first half of the first page evicts another.
fn full(limit: &'static Limit, residents: &[Key]) -> Harness {
    let harness = Harness::with_pages(3);
    harness.run(&residents.iter().map(|key| take(limit, *key)).collect::<Vec<Step>>());
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
fn admitted<const N: usize>(steps: &[Vec<Step>; N], answers: &[Vec<Answer>; N]) -> Vec<Key> {
    let asked = steps.iter().flatten().zip(answers.iter().flatten());
    let admitted = asked.filter(|(_, answer)| answer.applied.ruling == Ruling::Admitted);
    admitted.flat_map(|(step, _)| step.taken()).collect()
}

fn play_full<const N: usize>(limit: &'static Limit, residents: &[Key], steps: &[Vec<Step>; N]) {
    let harness = full(limit, residents);
    let answers = harness.play(steps.clone());
    harness.assert_sound();
    assert!(harness.store.forgotten() > 0, "there was no room");
    assert_no_more_than_evicted(&harness, limit, residents, &admitted(steps, &answers));
}

#[test]
fn only_evicted_keys_start_afresh() {
    let residents = residents(&BUCKET);
    let [a, b] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let steps = [
            vec![take(&BUCKET, a), take(&BUCKET, a), take(&BUCKET, residents[0])],
            vec![take(&BUCKET, b), take(&BUCKET, a), take(&BUCKET, b)],
            vec![take(&BUCKET, residents[0]), take(&BUCKET, residents[1]), take(&BUCKET, a)],
        ];
        play_full(&BUCKET, &residents, &steps);
    });
}

#[test]
fn a_set_evicts_other_keys_and_never_its_own() {
    let residents = residents(&BUCKET);
    let [a, b, c] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let steps = [
            vec![take(&BUCKET, a).and(take(&BUCKET, b)), take(&BUCKET, c)],
            vec![take(&BUCKET, b).and(take(&BUCKET, c)).and(take(&BUCKET, a))],
            vec![take(&BUCKET, residents[0]).and(take(&BUCKET, a)), peek(&BUCKET, b)],
        ];
        play_full(&BUCKET, &residents, &steps);
    });
}

#[test]
fn records_of_evicted_keys_are_freed() {
    let residents = residents(&LOG);
    let [a, b] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let steps = [
            vec![take(&LOG, a), take(&LOG, residents[0])],
            vec![take(&LOG, b).and(take(&LOG, a))],
            vec![take(&LOG, residents[0]).and(take(&LOG, residents[1])), take(&LOG, b)],
        ];
        play_full(&LOG, &residents, &steps);
    });
}

fn recovered(limit: &'static Limit) {
    let residents = residents(limit);
    let [a, b] = keys(limit, is_stuck_in_front);
    explore(move || {
        let harness = full(limit, &residents);
        // The cell that the first new key tries first.
        let cell = &harness.store.table.line(0, home_of(name(limit, a))).cells()[0];
        let first = residents.iter().find(|key| cell.is_named(name(limit, **key)));
        let first = *first.unwrap();
        harness.clock.advance(Duration::from_secs(86_400));
        harness.play([
            vec![take(limit, a), take(limit, residents[1])],
            vec![take(limit, first), take(limit, b).and(take(limit, residents[1]))],
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
