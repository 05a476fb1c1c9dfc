//! A cell that is reused, possibly by the same key, while another thread reads it.

use sluicegate_core::Ruling;

use super::harness::Harness;
use super::keys::{Key, is_stuck_in_front, keys, name};
use super::limits::{BUCKET, WIDE};
use super::runner::explore_closely;
use super::step::{StepResult, peek, take, take_many};
use crate::memory::page_state::home_of;
use crate::memory::pages::CELLS;

/// A store that may not grow, with a single cell available to a key.
///
/// All others in the first half of its page are blocked.
fn one_cell(key: Key) -> Harness {
    let harness = Harness::with_pages(3);
    let own = (home_of(name(&WIDE, key)), 0);
    let all = (0..4).flat_map(|line| (0..CELLS).map(move |slot| (line, slot)));
    for (line, slot) in all.filter(|place| *place != own) {
        harness.block(line, slot);
    }
    harness.store.table.slab.page(0).set_crowded();
    harness.run(&[take(&WIDE, key)]);
    harness
}

fn assert_admitted(answers: &[StepResult]) {
    for answer in answers {
        assert_eq!(answer.applied.ruling, Ruling::Admitted, "{answer:?}");
    }
}

#[test]
fn no_decision_uses_the_word_of_another_key() {
    let [asked] = keys(&WIDE, is_stuck_in_front);
    let [other] = keys(&BUCKET, is_stuck_in_front);
    explore_closely(move || {
        let harness = one_cell(asked);
        let [answers, _] = harness.run_threads([
            vec![take(&WIDE, asked), take(&WIDE, asked)],
            vec![take_many(&BUCKET, other, 2), take(&WIDE, asked)],
        ]);
        assert_admitted(&answers);
    });
}

#[test]
fn no_peek_reads_the_word_of_another_key() {
    let [asked] = keys(&WIDE, is_stuck_in_front);
    let [other] = keys(&BUCKET, is_stuck_in_front);
    explore_closely(move || {
        let harness = one_cell(asked);
        let [answers, _] = harness.run_threads([
            vec![peek(&WIDE, asked), peek(&WIDE, asked)],
            vec![take_many(&BUCKET, other, 2), take(&WIDE, asked)],
        ]);
        for answer in answers {
            let left = answer.decisions[0].unwrap().remaining();
            assert!(left >= 9, "{left} left, although one at most was taken since the last time");
        }
    });
}
