//! States that do not fit a word, and their memory.

use sluicegate_core::Limit;

use super::harness::Harness;
use super::keys::{first_page_of, keys};
use super::limits::{FRACTION, LOG, WINDOW};
use super::runner::explore;
use super::step::{peek, refund, reset, take, take_many};
use crate::memory::overflow::OverflowArena;
use crate::memory::table::Table;

fn races(limit: &'static Limit) {
    let [a, b] = keys(limit, |name| first_page_of(name) == 0 && name.bits() % 8 == 0);
    explore(move || {
        let harness = Harness::with_pages(4);
        harness.run_threads([
            vec![take(limit, a), take(limit, b), refund(limit, b)],
            vec![take_many(limit, a, 2), reset(limit, a)],
            vec![take(limit, a).and(take(limit, b)), peek(limit, a)],
        ]);
        harness.assert_sound();
        harness.assert_explained();
    });
}

#[test]
fn a_log_is_one_counter() {
    races(&LOG);
}

#[test]
fn a_window_is_one_counter() {
    races(&WINDOW);
}

#[test]
fn a_bucket_of_fractions_is_one_counter() {
    races(&FRACTION);
}

#[test]
fn records_are_evicted_at_the_memory_limit() {
    let [a, b, c, d] = keys(&LOG, |_| true);
    explore(move || {
        // Room for the first pages and about two records.
        let bytes = 3 * Table::BYTES_PER_PAGE + 2 * (OverflowArena::BYTES_EACH + 128);
        let harness = Harness::with_bytes(bytes);
        harness.run(&[take(&LOG, a), take(&LOG, b)]);
        harness.run_threads([
            vec![take(&LOG, c), take(&LOG, a)],
            vec![take(&LOG, d).and(take(&LOG, b)), take(&LOG, c)],
            vec![take(&LOG, a), take(&LOG, b).and(take(&LOG, a))],
        ]);
        harness.assert_sound();
    });
}
