//! Sets of counters, in any order, against each other.

use sluicegate_core::{Span, State};

use super::keys::{Key, first_page_of, keys, name};
use super::limits::{BUCKET, LOG, WIDE};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{Turn, give_back, peek, reset, take, take_many};
use crate::clock::Clock;
use crate::memory::slab::Cell;

/// Keys of the same page, and of others.
fn three() -> [Key; 3] {
    let [first, second] = keys(&BUCKET, |name| first_page_of(name) == 0);
    let [third] = keys(&BUCKET, |name| first_page_of(name) == 2);
    [first, second, third]
}

fn all(keys: &[Key]) -> Turn {
    let mut turns = keys.iter().map(|key| take(&BUCKET, *key));
    let first = turns.next().unwrap();
    turns.fold(first, Turn::and)
}

fn assert_all(scene: &Scene) {
    scene.assert_sound();
    scene.assert_explained();
}

#[test]
fn sets_of_what_is_there_are_all_or_nothing() {
    let [a, b, c] = three();
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.ask(&[take_many(&BUCKET, a, 0), take(&BUCKET, b), take(&BUCKET, c)]);
        scene.ask(&[take(&BUCKET, a), give_back(&BUCKET, a)]);
        scene.play([
            vec![all(&[a, b, c]), all(&[a, b])],
            vec![all(&[c, a]), take(&BUCKET, b)],
            vec![take(&BUCKET, a), all(&[b, a])],
        ]);
        assert_all(&scene);
    });
}

#[test]
fn sets_of_newcomers_are_all_or_nothing() {
    let [a, b, c] = three();
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.play([
            vec![all(&[a, b, c])],
            vec![all(&[c, b, a])],
            vec![take(&BUCKET, b), all(&[b, a])],
        ]);
        assert_all(&scene);
    });
}

#[test]
fn a_refused_newcomer_is_absent_at_the_same_moment() {
    let [a, b, c] = three();
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.ask(&[take_many(&BUCKET, c, 2)]);
        scene.play([
            vec![all(&[a, b]), all(&[a, c])],
            vec![all(&[b, c]), peek(&BUCKET, a).and(take(&BUCKET, b))],
            vec![peek(&BUCKET, b).and(peek(&BUCKET, a)), take_many(&BUCKET, b, 2)],
        ]);
        assert_all(&scene);
    });
}

/// Sets what is left of a bucket's two units, as a take or a refund would.
fn leave(scene: &Scene, cell: &Cell, left: u64) {
    let word = cell.word();
    let full_at = scene.clock.now() + Span::from_secs((2 - left) * 43_200);
    let next = word.with_state(&State::whole_bucket(full_at), scene.store.epoch).unwrap();
    assert!(cell.swap(word, next), "nobody else writes");
}

#[test]
fn what_only_looks_sees_one_moment() {
    let [a, b, _] = three();
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.ask(&[take(&BUCKET, a), take(&BUCKET, b)]);
        let cell = |key| scene.store.table.find(name(&BUCKET, key)).unwrap().cell;
        let (first, second) = (cell(a), cell(b));
        let looks = vec![peek(&BUCKET, a).and(peek(&BUCKET, b))];
        let [answers] = scene.play_beside([looks], || {
            for _ in 0..2 {
                leave(&scene, first, 0);
                leave(&scene, second, 0);
                leave(&scene, second, 1);
                leave(&scene, first, 1);
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
        let scene = Scene::with_pages(4);
        scene.ask(&[take(&BUCKET, a), take(&LOG, b)]);
        scene.play([
            vec![take(&BUCKET, a).and(take(&LOG, b)).and(take(&LOG, c))],
            vec![take(&LOG, c).and(take(&LOG, b)), reset(&BUCKET, a).and(take(&LOG, c))],
            vec![take(&LOG, b), peek(&BUCKET, a).and(peek(&LOG, b)).and(take(&WIDE, c))],
        ]);
        assert_all(&scene);
    });
}
