//! Random walks: a subject and the oracle take the same steps and must give the same answers.

use std::collections::VecDeque;
use std::fmt::Write;

use sluicegate_oracle::Oracle;
use sluicegate_oracle::random::{RECEIPT_REACH, Walk};
use sluicegate_oracle::trace::Step;

use crate::replay::Replay;
use crate::subject::Subject;

/// Steps of one walk before the next begins with other limits.
const STEPS_PER_WALK: usize = 2_000;

/// Takes about `steps` random steps, in walks of their own seeds from `first_seed` on;
/// panics at the first difference with what led to it.
pub fn differential<S: Subject>(mut make: impl FnMut() -> S, first_seed: u64, steps: usize) {
    for seed in (first_seed..).take(steps.div_ceil(STEPS_PER_WALK)) {
        one_walk(&mut make(), seed, Walk::new(seed));
    }
}

/// The same on walks on which time only goes forward and limits stay what they are. For stores that undo
/// what a refused set has charged in parts: what was charged and given back looks different to an
/// earlier time, or to a limit that divides time in another way.
pub fn steady<S: Subject>(mut make: impl FnMut() -> S, first_seed: u64, steps: usize) {
    for seed in (first_seed..).take(steps.div_ceil(STEPS_PER_WALK)) {
        one_walk(&mut make(), seed, Walk::steady(seed));
    }
}

fn one_walk(subject: &mut impl Subject, seed: u64, mut walk: Walk) {
    let mut oracle = Oracle::new(walk.limits());
    let mut replay = Replay::new(walk.limits());
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
            panic!("seed {seed}, step {index}:\n{}found {found}", story(&walk, &history));
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

/// What led to the last of these steps: the limits it names and the steps that met them.
fn story(walk: &Walk, history: &VecDeque<Step>) -> String {
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
