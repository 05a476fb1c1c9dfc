//! Running the same under many schedules.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

use super::bursts::Bursts;

/// Enough that each of the mistakes these tests were tried on is found nearly every time.
const USUAL: usize = 1_000;
/// So many times as many, where they are looked at closely.
const MORE: usize = 40;
/// Far more than any run takes. Who is not done by then waits for ever.
const STEPS: usize = 200_000;
/// So many times, one that should have waited overtakes: few are enough for nearly all mistakes.
const DEPTH: usize = 4;

/// Runs it under many schedules, as many as `SLUICEGATE_SCHEDULES` says or as are usual, in each of
/// three ways: dice at every step; a line in which few overtake; and [`Bursts`].
pub(super) fn explore(run: impl Fn() + Send + Sync + 'static) {
    let (schedules, run) = (schedules(), Arc::new(run));
    under(RandomScheduler::new(schedules), run.clone());
    under(PctScheduler::new(DEPTH, schedules), run.clone());
    under(bursts(schedules), run);
}

/// Runs a short one under many more schedules, in bursts: for what takes several threads that
/// each stand still at just one step.
pub(super) fn explore_closely(run: impl Fn() + Send + Sync + 'static) {
    under(bursts(schedules() * MORE), Arc::new(run));
}

fn schedules() -> usize {
    let chosen = env::var("SLUICEGATE_SCHEDULES").ok().and_then(|text| text.parse().ok());
    chosen.unwrap_or(USUAL)
}

fn bursts(schedules: usize) -> Bursts {
    Bursts::new(schedules, RandomState::new().hash_one(schedules))
}

fn under(scheduler: impl Scheduler + 'static, run: Arc<impl Fn() + Send + Sync + 'static>) {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(move || run());
}
