//! Sets of counters, in any order, concurrently.

use sluicegate_core::{Span, State};

use super::harness::Harness;
use super::keys::{Key, first_page_of, keys, name};
use super::limits::{BUCKET, LOG, WIDE};
use super::runner::explore;
use super::step::{Step, peek, refund, reset, take, take_many};
use crate::clock::Clock;
use crate::memory::pages::Cell;

/// Keys of the same page, and of others.
fn three() -> [Key; 3] {
    let [first, second] = keys(&BUCKET, |name| first_page_of(name) == 0);
    let [third] = keys(&BUCKET, |name| first_page_of(name) == 2);
    [first, second, third]
}

fn all(keys: &[Key]) -> Step {
    let mut steps = keys.iter().map(|key| take(&BUCKET, *key));
    let first = steps.next().unwrap();
    steps.fold(first, Step::and)
}

fn assert_all(harness: &Harness) {
    harness.assert_sound();
    harness.assert_explained();
}

#[test]
fn sets_of_existing_keys_are_all_or_nothing() {
    let [a, b, c] = three();
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run(&[take_many(&BUCKET, a, 0), take(&BUCKET, b), take(&BUCKET, c)]);
        harness.run(&[take(&BUCKET, a), refund(&BUCKET, a)]);
        harness.run_threads([
            vec![all(&[a, b, c]), all(&[a, b])],
            vec![all(&[c, a]), take(&BUCKET, b)],
            vec![take(&BUCKET, a), all(&[b, a])],
        ]);
        assert_all(&harness);
    });
}

#[test]
fn sets_of_new_keys_are_all_or_nothing() {
    let [a, b, c] = three();
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run_threads([
            vec![all(&[a, b, c])],
            vec![all(&[c, b, a])],
            vec![take(&BUCKET, b), all(&[b, a])],
        ]);
        assert_all(&harness);
    });
}

#[test]
fn a_refused_new_key_is_absent_at_the_same_time() {
    let [a, b, c] = three();
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run(&[take_many(&BUCKET, c, 2)]);
        harness.run_threads([
            vec![all(&[a, b]), all(&[a, c])],
            vec![all(&[b, c]), peek(&BUCKET, a).and(take(&BUCKET, b))],
            vec![peek(&BUCKET, b).and(peek(&BUCKET, a)), take_many(&BUCKET, b, 2)],
        ]);
        assert_all(&harness);
    });
}

/// Sets the units left in a bucket of two, as a take or a refund would.
fn leave(harness: &Harness, cell: &Cell, left: u64) {
    let full_at = harness.clock.now() + Span::from_secs((2 - left) * 43_200);
    loop {
        let word = cell.word();
        // A peek that saw a change locks the cell.
        if !word.is_locked() {
            let next = word.with_state(&State::whole_bucket(full_at), harness.store.epoch).unwrap();
            if cell.swap(word, next) {
                return;
            }
        }
        shuttle::thread::yield_now();
    }
}

#[test]
fn a_peek_set_reads_one_time() {
    let [a, b, _] = three();
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run(&[take(&BUCKET, a), take(&BUCKET, b)]);
        let cell = |key| harness.store.table.find(name(&BUCKET, key)).unwrap().cell;
        let (first, second) = (cell(a), cell(b));
        let looks = vec![peek(&BUCKET, a).and(peek(&BUCKET, b))];
        let [answers] = harness.run_beside([looks], || {
            for _ in 0..2 {
                leave(&harness, first, 0);
                leave(&harness, second, 0);
                leave(&harness, second, 1);
                leave(&harness, first, 1);
            }
        });
        let left = [0, 1].map(|check| answers[0].decisions[check].unwrap().remaining());
        assert_ne!(left, [1, 0], "the second was never used up before the first");
    });
}

#[test]
fn sets_of_words_and_records_are_all_or_nothing() {
    let [a, b, c] = three();
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run(&[take(&BUCKET, a), take(&LOG, b)]);
        harness.run_threads([
            vec![take(&BUCKET, a).and(take(&LOG, b)).and(take(&LOG, c))],
            vec![take(&LOG, c).and(take(&LOG, b)), reset(&BUCKET, a).and(take(&LOG, c))],
            vec![take(&LOG, b), peek(&BUCKET, a).and(peek(&LOG, b)).and(take(&WIDE, c))],
        ]);
        assert_all(&harness);
    });
}
