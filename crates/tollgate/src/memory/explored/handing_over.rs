//! A cell that changes hands, and back, while somebody reads it.

use tollgate_core::Ruling;

use super::keys::{Key, is_stuck_in_front, keys, residents};
use super::limits::{BUCKET, WIDE};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{Answer, Turn, peek, take, take_many};
use crate::memory::sync::Acquire;
use crate::memory::table::Found;
use super::keys::name;

/// A store that may not grow, in which a key has the only cell that can be had.
fn one_cell(key: Key) -> Scene {
    let scene = Scene::with_pages(3);
    scene.ask(&[take(&WIDE, key)]);
    let others: Vec<Turn> = residents(&BUCKET).iter().map(|key| take(&BUCKET, *key)).collect();
    scene.ask(&others);
    scene.store.table.slab.page(0).set_crowded();
    let own = name(&WIDE, &key).bits();
    for line in 0..4 {
        for cell in scene.store.table.line(0, line).cells() {
            assert!(cell.name.load(Acquire) == own || cell.lock(cell.word()));
        }
    }
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
    explore(move || {
        let scene = one_cell(asked);
        let [first, _, second] = scene.play([
            vec![take(&WIDE, asked)],
            vec![take_many(&BUCKET, other, 2)],
            vec![take(&WIDE, asked)],
        ]);
        assert_admitted(&first);
        assert_admitted(&second);
    });
}
