//! Repetition of a test under many schedules.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

use super::scheduler::Bursts;

/// Enough to find each of the mistakes these tests were tried on nearly every time.
const USUAL: usize = 1_000;
/// The factor for tests that need a closer look.
const MORE: usize = 40;
/// Far more steps than any run takes; a run that exceeds them is stuck.
const STEPS: usize = 200_000;
/// The number of preemptions: few are enough for nearly all mistakes.
const DEPTH: usize = 4;

/// Runs a test under many schedules in each of three ways.
///
/// Their number is `SLUICEGATE_SCHEDULES` or the default; the ways are random steps, a priority
/// order with few preemptions, and [`Bursts`].
pub(super) fn explore(run: impl Fn() + Send + Sync + 'static) {
    let (schedules, run) = (schedules(), Arc::new(run));
    under(RandomScheduler::new(schedules), run.clone());
    under(PctScheduler::new(DEPTH, schedules), run.clone());
    under(bursts(schedules), run);
}

/// Runs a short test under many more schedules, in bursts.
///
/// For mistakes that need several threads to pause at exactly one step each.
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
