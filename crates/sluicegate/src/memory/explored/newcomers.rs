//! Keys that come for the first time, to several threads at once.

use super::keys::{first_page_of, keys, name};
use super::limits::BUCKET;
use super::scene::Scene;
use super::schedules::{explore, explore_closely};
use super::turn::{give_back, peek, reset, take, take_many};
use crate::memory::page::home_of;

#[test]
fn a_newcomer_comes_once() {
    let [key] = keys(&BUCKET, |name| first_page_of(name) == 0);
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.play([
            vec![take(&BUCKET, key)],
            vec![take(&BUCKET, key), peek(&BUCKET, key)],
            vec![take(&BUCKET, key)],
        ]);
        scene.assert_sound();
        assert_eq!(scene.store.len(), 1);
        scene.assert_explained();
    });
}

#[test]
fn newcomers_to_one_line_take_nobody_s_place() {
    let [first, second] = keys(&BUCKET, |name| first_page_of(name) == 0 && name.bits() % 8 == 0);
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.play([
            vec![take(&BUCKET, first), take_many(&BUCKET, second, 2)],
            vec![take(&BUCKET, second), take(&BUCKET, first)],
            vec![peek(&BUCKET, first), reset(&BUCKET, second), take(&BUCKET, first)],
        ]);
        scene.assert_sound();
        scene.assert_explained();
    });
}

#[test]
fn what_is_given_back_once_can_be_taken_once() {
    let [key] = keys(&BUCKET, |name| first_page_of(name) == 0);
    explore(move || {
        let scene = Scene::with_pages(4);
        scene.play([
            vec![take(&BUCKET, key), give_back(&BUCKET, key), take(&BUCKET, key)],
            vec![take_many(&BUCKET, key, 2), give_back(&BUCKET, key)],
        ]);
        scene.assert_sound();
        scene.assert_explained();
    });
}

#[test]
fn a_cell_that_is_being_claimed_hides_nobody_behind_it() {
    let at = |line| move |name| first_page_of(name) == 0 && home_of(name) == line;
    let [hidden] = keys(&BUCKET, at(0));
    let [claims] = keys(&BUCKET, at(1));
    explore_closely(move || {
        let scene = Scene::with_pages(4);
        // One cell is left in the first line, none in the one beside it.
        (0..3).for_each(|slot| scene.block(0, slot));
        (0..4).for_each(|slot| scene.block(1, slot));
        scene.play_beside([vec![take(&BUCKET, claims)]], || {
            scene.ask(&[take(&BUCKET, hidden)]);
            let door = scene.store.table.door(name(&BUCKET, hidden));
            assert!(door.find().is_some(), "it was there a moment ago");
        });
    });
}
