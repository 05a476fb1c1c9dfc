//! A cell that changes hands, and back, while somebody reads it.

use sluicegate_core::Ruling;

use super::keys::{Key, is_stuck_in_front, keys, name};
use super::limits::{BUCKET, WIDE};
use super::scene::Scene;
use super::schedules::explore_closely;
use super::turn::{Answer, peek, take, take_many};
use crate::memory::page::home_of;
use crate::memory::slab::CELLS;

/// A store that may not grow, in which a key has the only cell that can be had: all others of the
/// first half of its page are blocked.
fn one_cell(key: Key) -> Scene {
    let scene = Scene::with_pages(3);
    let own = (home_of(name(&WIDE, key)), 0);
    let all = (0..4).flat_map(|line| (0..CELLS).map(move |slot| (line, slot)));
    for (line, slot) in all.filter(|place| *place != own) {
        scene.block(line, slot);
    }
    scene.store.table.slab.page(0).set_crowded();
    scene.ask(&[take(&WIDE, key)]);
    scene
}

fn assert_admitted(answers: &[Answer]) {
    for answer in answers {
        assert_eq!(answer.applied.ruling, Ruling::Admitted, "{answer:?}");
    }
}

#[test]
fn nobody_is_answered_with_another_s_word() {
    let [asked] = keys(&WIDE, is_stuck_in_front);
    let [other] = keys(&BUCKET, is_stuck_in_front);
    explore_closely(move || {
        let scene = one_cell(asked);
        let [answers, _] = scene.play([
            vec![take(&WIDE, asked), take(&WIDE, asked)],
            vec![take_many(&BUCKET, other, 2), take(&WIDE, asked)],
        ]);
        assert_admitted(&answers);
    });
}

#[test]
fn nobody_is_shown_another_s_word() {
    let [asked] = keys(&WIDE, is_stuck_in_front);
    let [other] = keys(&BUCKET, is_stuck_in_front);
    explore_closely(move || {
        let scene = one_cell(asked);
        let [answers, _] = scene.play([
            vec![peek(&WIDE, asked), peek(&WIDE, asked)],
            vec![take_many(&BUCKET, other, 2), take(&WIDE, asked)],
        ]);
        for answer in answers {
            let left = answer.decisions[0].unwrap().remaining();
            assert!(left >= 9, "{left} left, although one at most was taken since the last time");
        }
    });
}
