//! Schedules in which a thread runs one step or a thousand before the next one.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use sluicegate_testkit::Rng;

/// A scheduler that draws the length of each thread's run at random.
///
/// Choosing a thread at random for every step hardly ever pauses one thread between two steps
/// while others run far ahead. So the length of the run is drawn instead: with equal probability
/// one step or about two, four, eight or more.
#[derive(Debug)]
pub(super) struct Bursts {
    /// The number of schedules left.
    left: usize,
    rng: Rng,
    /// The number of steps left in this run.
    burst: u64,
}

/// The longest run, as a power of two.
const LONGEST: u64 = 10;

impl Bursts {
    pub(super) fn new(schedules: usize, seed: u64) -> Self {
        Self { left: schedules, rng: Rng::new(seed), burst: 0 }
    }

    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.rng.below(end)
    }
}

impl Scheduler for Bursts {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        self.burst = 0;
        Some(Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let goes_on = runnable.iter().map(|task| task.id()).find(|task| Some(*task) == current);
        if let Some(task) = goes_on.filter(|_| self.burst > 0 && !is_yielding) {
            self.burst -= 1;
            return Some(task);
        }
        let power = self.below(LONGEST);
        self.burst = self.below(1 << power);
        let next = self.below(runnable.len() as u64);
        Some(runnable[usize::try_from(next).unwrap_or(0)].id())
    }

    fn next_u64(&mut self) -> u64 {
        self.below(u64::MAX)
    }
}
