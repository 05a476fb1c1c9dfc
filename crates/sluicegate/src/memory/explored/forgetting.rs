//! A full table that may not grow: newcomers make others be forgotten.

use std::time::Duration;

use sluicegate_core::{Limit, Ruling};

use super::keys::{Key, is_stuck_in_front, keys, name, residents};
use super::limits::{BUCKET, LOG};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{Answer, Turn, peek, take};
use crate::memory::page::home_of;

/// A store in which whoever comes to the first half of the first page takes somebody's place.
fn full(limit: &'static Limit, residents: &[Key]) -> Scene {
    let scene = Scene::with_pages(3);
    scene.ask(&residents.iter().map(|key| take(limit, *key)).collect::<Vec<Turn>>());
    scene.store.table.slab.page(0).set_crowded();
    scene
}

/// Who was forgotten starts afresh, and has one capacity more; nobody else has.
fn assert_no_more_than_forgotten(scene: &Scene, limit: &Limit, before: &[Key], taken: &[Key]) {
    let mut afresh = 0;
    let mut keys = [before, taken].concat();
    keys.sort_unstable();
    for admitted in keys.chunk_by(|one, other| one == other) {
        let admitted = admitted.len() as u64;
        afresh += admitted.div_ceil(limit.capacity()) - 1;
    }
    let forgotten = scene.store.forgotten();
    assert!(afresh <= forgotten, "{afresh} began again, {forgotten} were forgotten");
}

/// The keys of those turns that were admitted.
fn admitted<const N: usize>(turns: &[Vec<Turn>; N], answers: &[Vec<Answer>; N]) -> Vec<Key> {
    let asked = turns.iter().flatten().zip(answers.iter().flatten());
    let admitted = asked.filter(|(_, answer)| answer.applied.ruling == Ruling::Admitted);
    admitted.flat_map(|(turn, _)| turn.taken()).collect()
}

fn play_full<const N: usize>(limit: &'static Limit, residents: &[Key], turns: &[Vec<Turn>; N]) {
    let scene = full(limit, residents);
    let answers = scene.play(turns.clone());
    scene.assert_sound();
    assert!(scene.store.forgotten() > 0, "there was no room");
    assert_no_more_than_forgotten(&scene, limit, residents, &admitted(turns, &answers));
}

#[test]
fn who_is_forgotten_begins_again_and_nobody_else() {
    let residents = residents(&BUCKET);
    let [a, b] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let turns = [
            vec![take(&BUCKET, a), take(&BUCKET, a), take(&BUCKET, residents[0])],
            vec![take(&BUCKET, b), take(&BUCKET, a), take(&BUCKET, b)],
            vec![take(&BUCKET, residents[0]), take(&BUCKET, residents[1]), take(&BUCKET, a)],
        ];
        play_full(&BUCKET, &residents, &turns);
    });
}

#[test]
fn sets_push_aside_others_and_never_themselves() {
    let residents = residents(&BUCKET);
    let [a, b, c] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let turns = [
            vec![take(&BUCKET, a).and(take(&BUCKET, b)), take(&BUCKET, c)],
            vec![take(&BUCKET, b).and(take(&BUCKET, c)).and(take(&BUCKET, a))],
            vec![take(&BUCKET, residents[0]).and(take(&BUCKET, a)), peek(&BUCKET, b)],
        ];
        play_full(&BUCKET, &residents, &turns);
    });
}

#[test]
fn records_of_the_forgotten_are_free() {
    let residents = residents(&LOG);
    let [a, b] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let turns = [
            vec![take(&LOG, a), take(&LOG, residents[0])],
            vec![take(&LOG, b).and(take(&LOG, a))],
            vec![take(&LOG, residents[0]).and(take(&LOG, residents[1])), take(&LOG, b)],
        ];
        play_full(&LOG, &residents, &turns);
    });
}

fn recovered(limit: &'static Limit) {
    let residents = residents(limit);
    let [a, b] = keys(limit, is_stuck_in_front);
    explore(move || {
        let scene = full(limit, &residents);
        // Whose place the first newcomer tries first.
        let cell = &scene.store.table.line(0, home_of(name(limit, a))).cells()[0];
        let first = residents.iter().find(|key| cell.is_named(name(limit, **key)));
        let first = *first.unwrap();
        scene.clock.advance(Duration::from_secs(86_400));
        scene.play([
            vec![take(limit, a), take(limit, residents[1])],
            vec![take(limit, first), take(limit, b).and(take(limit, residents[1]))],
        ]);
        scene.assert_sound();
        scene.assert_explained();
    });
}

#[test]
fn what_has_recovered_makes_room_unless_it_is_used_again() {
    recovered(&BUCKET);
}

#[test]
fn a_record_that_has_recovered_makes_room_unless_it_is_used_again() {
    recovered(&LOG);
}
