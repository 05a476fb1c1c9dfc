//! Keys that move to another line, to make room, while they are asked.

use super::keys::{is_stuck_in_front, keys, residents};
use super::limits::{BUCKET, LOG};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{Turn, peek, reset, take, take_many};

#[test]
fn who_moves_is_neither_lost_nor_doubled() {
    let residents = residents(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let scene = Scene::with_pages(3);
        scene.ask(&residents.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<Turn>>());
        scene.play([
            vec![take(&BUCKET, first), take(&BUCKET, residents[0])],
            vec![take(&BUCKET, second), peek(&BUCKET, residents[0])],
            vec![
                take(&BUCKET, residents[0]),
                take(&BUCKET, residents[1]).and(take(&BUCKET, residents[0])),
                reset(&BUCKET, residents[0]),
            ],
        ]);
        scene.assert_sound();
        scene.assert_explained();
    });
}

#[test]
fn records_move_with_their_counters() {
    let residents = residents(&LOG);
    let [newcomer] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let scene = Scene::with_pages(3);
        scene.ask(&residents.iter().map(|key| take(&LOG, *key)).collect::<Vec<Turn>>());
        scene.play([
            vec![take(&LOG, newcomer)],
            vec![take_many(&LOG, residents[0], 2), take(&LOG, residents[0])],
            vec![take(&LOG, residents[1]).and(take(&LOG, residents[0])), peek(&LOG, newcomer)],
        ]);
        assert_eq!(scene.store.len(), 17);
        scene.assert_sound();
        scene.assert_explained();
    });
}
