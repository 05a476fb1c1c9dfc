//! Contenders timed in turn, round by round, so that disturbances affect all alike.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use sluicegate::{Clock, SystemClock};

use crate::contender::Contender;
use crate::stopwatch::{ElapsedTimes, Stopwatch};

/// Longer than a thread's clock takes to know the rate of the time-stamp counter.
const CALIBRATION: Duration = Duration::from_millis(50);

/// Reads the clock of this new thread until it is as fast as on threads that live on.
fn calibrate_clock() {
    let (clock, watch) = (SystemClock::new(), std::time::Instant::now());
    while watch.elapsed() < CALIBRATION {
        black_box(clock.now());
    }
}

/// The number of rounds and steps.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) rounds: usize,
    /// Checks per thread and round: a multiple of every batch and set.
    pub(crate) steps: usize,
}

impl Scale {
    pub(crate) const FULL: Self = Self { rounds: 21, steps: 192_000 };
    pub(crate) const QUICK: Self = Self { rounds: 3, steps: 96_000 };

    /// The number of keys to draw, so that it takes some rounds until they repeat.
    pub(crate) fn draws(self) -> usize {
        self.steps * 16
    }
}

pub(crate) struct RoundPlan<'a, 'k> {
    pub(crate) scale: Scale,
    /// Enough for one round of one thread, or for several.
    pub(crate) keys: &'a [&'k str],
    pub(crate) threads: usize,
    /// Whether every check is admitted, or none.
    pub(crate) admits: bool,
}

impl<'k> RoundPlan<'_, 'k> {
    /// Nanoseconds per key and thread, for each contender: the median of all rounds.
    pub(crate) fn run<const N: usize>(&self, contenders: [&dyn Contender<'k>; N]) -> [f64; N] {
        let mut times = [const { Vec::new() }; N];
        for round in 0..self.scale.rounds {
            // Each contender goes first in turn.
            for turn in 0..N {
                let index = (round + turn) % N;
                times[index].push(self.round(round, contenders[index]));
            }
        }
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
    }

    fn round(&self, round: usize, contender: &dyn Contender<'k>) -> f64 {
        let start_line = Barrier::new(self.threads);
        let run = |keys| {
            calibrate_clock();
            start_line.wait();
            let watch = Stopwatch::start();
            let admitted = black_box(contender.check_all(black_box(keys)));
            let taken = watch.stop();
            assert_eq!(
                admitted,
                if self.admits { self.scale.steps } else { 0 },
                "not what was to be timed"
            );
            self.counted(taken)
        };
        let taken: Duration = thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| self.stretch(round * self.threads + thread))
                .map(|keys| scope.spawn(move || run(keys)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        taken.as_nanos() as f64 / (self.threads * self.scale.steps) as f64
    }

    /// A single thread never waits, so its processor time is the whole cost, however busy the
    /// machine is. Several may wait for each other, which is part of the cost.
    fn counted(&self, taken: ElapsedTimes) -> Duration {
        if self.threads == 1 { taken.on_the_processor } else { taken.by_the_clock }
    }

    fn stretch(&self, index: usize) -> &[&'k str] {
        let steps = self.scale.steps;
        let start = index * steps % self.keys.len();
        &self.keys[start..start + steps]
    }
}
