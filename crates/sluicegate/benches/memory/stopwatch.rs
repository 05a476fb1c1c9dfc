//! How long something took: by the clock, and of that on the processor.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Started; what it reads is for the thread that started it.
pub(crate) struct Stopwatch {
    start: Instant,
    processor: Duration,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) by_the_clock: Duration,
    /// Stands still while a shared machine runs somebody else, and while waiting for a lock.
    pub(crate) on_the_processor: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        // The clock last, and first in the end: asking for processor time takes a while.
        let processor = processor_time();
        Self { start: Instant::now(), processor }
    }

    pub(crate) fn stop(self) -> Taken {
        let by_the_clock = self.start.elapsed();
        Taken { by_the_clock, on_the_processor: processor_time().saturating_sub(self.processor) }
    }
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}
