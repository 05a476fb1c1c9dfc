//! Keys that move to another line, to make room, while they are asked.

use std::ops::Range;

use super::keys::{Key, first_page_of, is_stuck_in_front, keys, residents};
use super::limits::{BUCKET, LOG, WIDE};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{Turn, peek, reset, take, take_many};
use crate::memory::page::{home_of, lines_of};

#[test]
fn who_moves_is_neither_lost_nor_doubled() {
    let residents = residents(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let scene = Scene::with_pages(3);
        scene.ask(&residents.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<Turn>>());
        scene.play([
            vec![take(&BUCKET, first), take(&BUCKET, residents[0])],
            vec![take(&BUCKET, second), peek(&BUCKET, residents[0])],
            vec![
                take(&BUCKET, residents[0]),
                take(&BUCKET, residents[1]).and(take(&BUCKET, residents[0])),
                reset(&BUCKET, residents[0]),
            ],
        ]);
        scene.assert_sound();
        scene.assert_explained();
    });
}

#[test]
fn records_move_with_their_counters() {
    let residents = residents(&LOG);
    let [newcomer] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let scene = Scene::with_pages(3);
        scene.ask(&residents.iter().map(|key| take(&LOG, *key)).collect::<Vec<Turn>>());
        scene.play([
            vec![take(&LOG, newcomer)],
            vec![take_many(&LOG, residents[0], 2), take(&LOG, residents[0])],
            vec![take(&LOG, residents[1]).and(take(&LOG, residents[0])), peek(&LOG, newcomer)],
        ]);
        assert_eq!(scene.store.len(), 17);
        scene.assert_sound();
        scene.assert_explained();
    });
}

#[test]
fn who_moves_back_home_is_not_looked_for_in_between() {
    // Eight whose home is full then, and one of the same home that has to go elsewhere.
    let front: [Key; 8] = keys(&BUCKET, |name| first_page_of(name) == 0 && home_of(name) < 2);
    let [away] = keys(&WIDE, |name| {
        let lines = lines_of(name);
        first_page_of(name) == 0 && lines[0] < 2 && (4..6).contains(&lines[2])
    });
    let is_stuck_at = |name, lines: Range<usize>| {
        let [home, _, other, _] = lines_of(name);
        first_page_of(name) == 0 && lines.contains(&home) && other >= 4
    };
    let back: [Key; 7] = keys(&BUCKET, |name| is_stuck_at(name, 4..6));
    let further_back: [Key; 8] = keys(&BUCKET, |name| is_stuck_at(name, 6..8));
    let [newcomer] = keys(&LOG, |name| is_stuck_at(name, 4..8));
    explore(move || {
        // If somebody is busy with the key that could move, the page is divided instead.
        let scene = Scene::with_pages(8);
        let come = |keys: &[Key]| keys.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<_>>();
        scene.ask(&come(&front));
        scene.ask(&[take(&WIDE, away)]);
        scene.ask(&come(&back));
        scene.ask(&come(&further_back));
        scene.ask(&[reset(&BUCKET, front[0])]);
        scene.play([
            vec![take(&LOG, newcomer)],
            vec![take(&WIDE, away)],
            vec![take(&WIDE, away), peek(&WIDE, away)],
        ]);
        scene.assert_sound();
        scene.assert_explained();
    });
}
