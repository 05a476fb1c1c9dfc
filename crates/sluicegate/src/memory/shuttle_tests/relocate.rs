//! Keys that move to another line, to make room, while they are used.

use std::ops::Range;

use super::harness::Harness;
use super::keys::{Key, first_page_of, initial_keys, is_stuck_in_front, keys};
use super::limits::{BUCKET, LOG, WIDE};
use super::runner::explore;
use super::step::{Step, peek, reset, take, take_many};
use crate::memory::page_state::{home_of, lines_of};

#[test]
fn a_moved_key_is_neither_lost_nor_duplicated() {
    let initial_keys = initial_keys(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let harness = Harness::with_pages(3);
        harness.run(&initial_keys.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<Step>>());
        harness.run_threads([
            vec![take(&BUCKET, first), take(&BUCKET, initial_keys[0])],
            vec![take(&BUCKET, second), peek(&BUCKET, initial_keys[0])],
            vec![
                take(&BUCKET, initial_keys[0]),
                take(&BUCKET, initial_keys[1]).and(take(&BUCKET, initial_keys[0])),
                reset(&BUCKET, initial_keys[0]),
            ],
        ]);
        harness.assert_sound();
        harness.assert_explained();
    });
}

#[test]
fn records_move_with_their_counters() {
    let initial_keys = initial_keys(&LOG);
    let [new_key] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let harness = Harness::with_pages(3);
        harness.run(&initial_keys.iter().map(|key| take(&LOG, *key)).collect::<Vec<Step>>());
        harness.run_threads([
            vec![take(&LOG, new_key)],
            vec![take_many(&LOG, initial_keys[0], 2), take(&LOG, initial_keys[0])],
            vec![take(&LOG, initial_keys[1]).and(take(&LOG, initial_keys[0])), peek(&LOG, new_key)],
        ]);
        assert_eq!(harness.store.len(), 17);
        harness.assert_sound();
        harness.assert_explained();
    });
}

#[test]
fn a_key_that_moves_home_is_not_missed() {
    // Eight that fill their home lines, and one of the same home that has to go elsewhere.
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
    let [new_key] = keys(&LOG, |name| is_stuck_at(name, 4..8));
    explore(move || {
        // If the key that could move is in use, the page is split instead.
        let harness = Harness::with_pages(8);
        let come = |keys: &[Key]| keys.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<_>>();
        harness.run(&come(&front));
        harness.run(&[take(&WIDE, away)]);
        harness.run(&come(&back));
        harness.run(&come(&further_back));
        harness.run(&[reset(&BUCKET, front[0])]);
        harness.run_threads([
            vec![take(&LOG, new_key)],
            vec![take(&WIDE, away)],
            vec![take(&WIDE, away), peek(&WIDE, away)],
        ]);
        harness.assert_sound();
        harness.assert_explained();
    });
}
