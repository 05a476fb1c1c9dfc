//! Random walks: a subject and the oracle have to agree on every step.

use std::collections::VecDeque;
use std::fmt::Write;

use sluicegate_oracle::Oracle;
use sluicegate_oracle::random::{RECEIPT_REACH, Walk};
use sluicegate_oracle::trace::Step;

use crate::replay::VectorReplay;
use crate::subject::Subject;

/// The number of steps in a walk, before the next one begins with other limits.
const STEPS_PER_WALK: usize = 2_000;

/// Takes about `steps` random steps, in walks with seeds from `first_seed` on.
///
/// Panics at the first difference, with the steps that led to it.
pub fn differential<S: Subject>(mut make: impl FnMut() -> S, first_seed: u64, steps: usize) {
    for seed in (first_seed..).take(steps.div_ceil(STEPS_PER_WALK)) {
        one_walk(&mut make(), seed, Walk::new(seed));
    }
}

/// Runs walks in which time only goes forward and limits do not change.
///
/// For stores that roll back the charges of refused sets: a charge that was rolled back looks
/// different at an earlier time, or to a limit that divides time differently.
pub fn steady<S: Subject>(mut make: impl FnMut() -> S, first_seed: u64, steps: usize) {
    for seed in (first_seed..).take(steps.div_ceil(STEPS_PER_WALK)) {
        one_walk(&mut make(), seed, Walk::steady(seed));
    }
}

fn one_walk(subject: &mut impl Subject, seed: u64, mut walk: Walk) {
    let mut oracle = Oracle::new(walk.limits());
    let mut replay = VectorReplay::new(walk.limits());
    let mut history: VecDeque<Step> = VecDeque::new();
    let mut last = None;
    for index in 0..STEPS_PER_WALK {
        let mut step = walk.next_step(last.as_ref());
        let expected = oracle.step(&step);
        let found = replay.step(subject, &step);
        step.expect = Some(expected.clone());
        if found != expected {
            history.push_back(step);
            let found = serde_json::to_string(&found).expect("answers are JSON");
            panic!("seed {seed}, step {index}:\n{}found {found}", describe(&walk, &history));
        }
        if history.len() == 40 {
            history.pop_front();
        }
        history.push_back(step);
        let reach = index.saturating_sub(RECEIPT_REACH * 2);
        oracle.forget_receipts_before(reach);
        replay.forget_receipts_before(reach);
        last = Some(expected);
    }
}

/// Describes the last of these steps: its limits, and the steps on the same counters.
fn describe(walk: &Walk, history: &VecDeque<Step>) -> String {
    let last = history.back().expect("there is a last step");
    let name_of = |limit: &str| walk.limits()[limit].name.clone();
    let names: Vec<String> = last.checks.iter().map(|check| name_of(&check.limit)).collect();
    let mut story = String::new();
    for (handle, limit) in walk.limits().iter().filter(|(_, limit)| names.contains(&limit.name)) {
        let _ = writeln!(
            story,
            "{handle} = {}",
            serde_json::to_string(limit).expect("limits are JSON")
        );
    }
    let met = |step: &&Step| step.checks.iter().any(|check| names.contains(&name_of(&check.limit)));
    for step in history.iter().filter(met) {
        let _ = writeln!(story, "{}", serde_json::to_string(step).expect("steps are JSON"));
    }
    story
}
