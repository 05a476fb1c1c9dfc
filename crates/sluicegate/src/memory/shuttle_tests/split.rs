//! A page that is split while its keys are used.

use super::harness::Harness;
use super::keys::{Key, initial_keys, is_stuck_in_front, keys};
use super::limits::{BUCKET, LOG};
use super::runner::explore;
use super::step::{Step, peek, reset, take, take_many};

/// A store whose first page has no room for these keys and has to be split.
fn full(initial_keys: &[Key]) -> Harness {
    let harness = Harness::with_pages(8);
    let steps: Vec<Step> = initial_keys.iter().map(|key| take(&BUCKET, *key)).collect();
    harness.run(&steps);
    harness.store.table.slab.page(0).set_crowded();
    harness
}

fn assert_grown(harness: &Harness) {
    assert!(harness.store.table.page_count() > 3, "no page was divided");
    harness.assert_sound();
    harness.assert_explained();
}

#[test]
fn no_key_is_lost_in_a_split() {
    let initial_keys = initial_keys(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let harness = full(&initial_keys);
        harness.run_threads([
            vec![take(&BUCKET, first)],
            vec![take(&BUCKET, second), take(&BUCKET, first)],
            vec![
                take(&BUCKET, initial_keys[0]),
                peek(&BUCKET, initial_keys[15]),
                reset(&BUCKET, initial_keys[7]),
            ],
        ]);
        assert_grown(&harness);
    });
}

#[test]
fn a_set_releases_a_page_that_is_split() {
    let initial_keys = initial_keys(&BUCKET);
    let [first, second, third] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let harness = full(&initial_keys);
        harness.run_threads([
            vec![take(&BUCKET, first)],
            vec![take(&BUCKET, initial_keys[3]).and(take(&BUCKET, second))],
            vec![
                take(&BUCKET, initial_keys[9]).and(take(&BUCKET, initial_keys[3])),
                take(&BUCKET, third).and(take_many(&BUCKET, initial_keys[3], 2)),
            ],
        ]);
        assert_grown(&harness);
    });
}

#[test]
fn a_set_with_records_releases_a_page_that_is_split() {
    let initial_keys = initial_keys(&BUCKET);
    let [new_key] = keys(&BUCKET, is_stuck_in_front);
    let [first, second] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let harness = full(&initial_keys);
        harness.run_threads([
            vec![take(&BUCKET, new_key)],
            vec![take(&BUCKET, initial_keys[3]).and(take(&LOG, first)).and(take(&LOG, second))],
            vec![take(&LOG, second), peek(&LOG, first).and(take(&BUCKET, initial_keys[3]))],
        ]);
        assert_grown(&harness);
    });
}
