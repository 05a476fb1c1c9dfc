//! States that do not fit a word, and the bytes they take up.

use sluicegate_core::Limit;

use super::keys::{first_page_of, keys};
use super::limits::{FRACTION, LOG, WINDOW};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{give_back, peek, reset, take, take_many};
use crate::memory::records::Records;
use crate::memory::table::Table;

fn races(limit: &'static Limit) {
    let [a, b] = keys(limit, |name| first_page_of(name) == 0 && name.bits() % 8 == 0);
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.play([
            vec![take(limit, a), take(limit, b), give_back(limit, b)],
            vec![take_many(limit, a, 2), reset(limit, a)],
            vec![take(limit, a).and(take(limit, b)), peek(limit, a)],
        ]);
        scene.assert_sound();
        scene.assert_explained();
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
fn records_are_forgotten_where_there_are_too_many_bytes() {
    let [a, b, c, d] = keys(&LOG, |_| true);
    explore(move || {
        // Room for the first pages and about two records.
        let bytes = 3 * Table::BYTES_PER_PAGE + 2 * (Records::BYTES_EACH + 128);
        let scene = Scene::with_bytes(bytes);
        scene.ask(&[take(&LOG, a), take(&LOG, b)]);
        scene.play([
            vec![take(&LOG, c), take(&LOG, a)],
            vec![take(&LOG, d).and(take(&LOG, b)), take(&LOG, c)],
            vec![take(&LOG, a), take(&LOG, b).and(take(&LOG, a))],
        ]);
        scene.assert_sound();
    });
}
