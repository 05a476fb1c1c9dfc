//! A page that is divided while its keys are asked.

use super::keys::{Key, is_stuck_in_front, keys, residents};
use super::limits::{BUCKET, LOG};
use super::scene::Scene;
use super::schedules::explore;
use super::turn::{Turn, peek, reset, take, take_many};

/// A store whose first page has no room for these and may not be tidied up: it has to be divided.
fn full(residents: &[Key]) -> Scene {
    let scene = Scene::with_pages(8);
    let turns: Vec<Turn> = residents.iter().map(|key| take(&BUCKET, *key)).collect();
    scene.ask(&turns);
    scene.store.table.slab.page(0).set_crowded();
    scene
}

fn assert_grown(scene: &Scene) {
    assert!(scene.store.table.page_count() > 3, "no page was divided");
    scene.assert_sound();
    scene.assert_explained();
}

#[test]
fn nobody_is_lost_when_a_page_is_divided() {
    let residents = residents(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let scene = full(&residents);
        scene.play([
            vec![take(&BUCKET, first)],
            vec![take(&BUCKET, second), take(&BUCKET, first)],
            vec![
                take(&BUCKET, residents[0]),
                peek(&BUCKET, residents[15]),
                reset(&BUCKET, residents[7]),
            ],
        ]);
        assert_grown(&scene);
    });
}

#[test]
fn a_set_lets_go_of_a_page_that_is_divided() {
    let residents = residents(&BUCKET);
    let [first, second, third] = keys(&BUCKET, is_stuck_in_front);
    explore(move || {
        let scene = full(&residents);
        scene.play([
            vec![take(&BUCKET, first)],
            vec![take(&BUCKET, residents[3]).and(take(&BUCKET, second))],
            vec![
                take(&BUCKET, residents[9]).and(take(&BUCKET, residents[3])),
                take(&BUCKET, third).and(take_many(&BUCKET, residents[3], 2)),
            ],
        ]);
        assert_grown(&scene);
    });
}

#[test]
fn a_set_with_records_lets_go_of_a_page_that_is_divided() {
    let residents = residents(&BUCKET);
    let [newcomer] = keys(&BUCKET, is_stuck_in_front);
    let [first, second] = keys(&LOG, is_stuck_in_front);
    explore(move || {
        let scene = full(&residents);
        scene.play([
            vec![take(&BUCKET, newcomer)],
            vec![take(&BUCKET, residents[3]).and(take(&LOG, first)).and(take(&LOG, second))],
            vec![take(&LOG, second), peek(&LOG, first).and(take(&BUCKET, residents[3]))],
        ]);
        assert_grown(&scene);
    });
}
