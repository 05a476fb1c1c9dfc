//! Measurement of wall-clock and processor time.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A running stopwatch for the thread that started it.
pub(crate) struct Stopwatch {
    start: Instant,
    processor: Duration,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct ElapsedTimes {
    pub(crate) by_the_clock: Duration,
    /// Does not advance while another process runs, or while waiting for a lock.
    pub(crate) on_the_processor: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        // The clock is read innermost, because reading processor time takes a while.
        let processor = processor_time();
        Self { start: Instant::now(), processor }
    }

    pub(crate) fn stop(self) -> ElapsedTimes {
        let by_the_clock = self.start.elapsed();
        ElapsedTimes {
            by_the_clock,
            on_the_processor: processor_time().saturating_sub(self.processor),
        }
    }
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}
