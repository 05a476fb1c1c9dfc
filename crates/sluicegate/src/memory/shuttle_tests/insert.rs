//! Keys that several threads insert at the same time.

use super::harness::Harness;
use super::keys::{first_page_of, keys, name};
use super::limits::BUCKET;
use super::runner::{explore, explore_closely};
use super::step::{peek, refund, reset, take, take_many};
use crate::memory::page_state::home_of;

#[test]
fn a_new_key_is_inserted_once() {
    let [key] = keys(&BUCKET, |name| first_page_of(name) == 0);
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run_threads([
            vec![take(&BUCKET, key)],
            vec![take(&BUCKET, key), peek(&BUCKET, key)],
            vec![take(&BUCKET, key)],
        ]);
        harness.assert_sound();
        assert_eq!(harness.store.len(), 1);
        harness.assert_explained();
    });
}

#[test]
fn new_keys_of_one_line_replace_no_other() {
    let [first, second] = keys(&BUCKET, |name| first_page_of(name) == 0 && name.bits() % 8 == 0);
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run_threads([
            vec![take(&BUCKET, first), take_many(&BUCKET, second, 2)],
            vec![take(&BUCKET, second), take(&BUCKET, first)],
            vec![peek(&BUCKET, first), reset(&BUCKET, second), take(&BUCKET, first)],
        ]);
        harness.assert_sound();
        harness.assert_explained();
    });
}

#[test]
fn a_unit_refunded_once_can_be_taken_once() {
    let [key] = keys(&BUCKET, |name| first_page_of(name) == 0);
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run_threads([
            vec![take(&BUCKET, key), refund(&BUCKET, key), take(&BUCKET, key)],
            vec![take_many(&BUCKET, key, 2), refund(&BUCKET, key)],
        ]);
        harness.assert_sound();
        harness.assert_explained();
    });
}

#[test]
fn a_cell_being_claimed_hides_no_key_in_later_lines() {
    let at = |line| move |name| first_page_of(name) == 0 && home_of(name) == line;
    let [hidden] = keys(&BUCKET, at(0));
    let [claims] = keys(&BUCKET, at(1));
    explore_closely(move || {
        let harness = Harness::with_pages(4);
        // One cell is left in the first line, none in the neighbouring one.
        (0..3).for_each(|slot| harness.block(0, slot));
        (0..4).for_each(|slot| harness.block(1, slot));
        harness.run_beside([vec![take(&BUCKET, claims)]], || {
            harness.run(&[take(&BUCKET, hidden)]);
            let insert_slot = harness.store.table.insert_slot(name(&BUCKET, hidden));
            assert!(insert_slot.find().is_some(), "it was there a moment ago");
        });
    });
}
