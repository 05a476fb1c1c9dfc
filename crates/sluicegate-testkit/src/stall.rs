//! How long the machine delays a thread that is ready to run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(2);

/// The shortest stall that can look like a server that does not answer.
const LONG_STALL: Duration = Duration::from_millis(200);

const ATTEMPTS: usize = 10;

/// A thread that measures how late it wakes up.
///
/// Tests compare a latency with the longest stall of the same run, not with a fixed time.
pub struct StallMonitor {
    stop: Arc<AtomicBool>,
    longest_us: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl StallMonitor {
    /// Starts measuring.
    #[allow(clippy::disallowed_methods, reason = "the delay of a real sleep is measured")]
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let longest_us = Arc::new(AtomicU64::new(0));
        let (stopped, longest) = (Arc::clone(&stop), Arc::clone(&longest_us));
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let before = Instant::now();
                thread::sleep(INTERVAL);
                let late = before.elapsed().saturating_sub(INTERVAL);
                longest.fetch_max(
                    u64::try_from(late.as_micros()).unwrap_or(u64::MAX),
                    Ordering::Relaxed,
                );
            }
        });
        Self { stop, longest_us, thread: Some(thread) }
    }

    /// The longest stall so far.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.longest_us.load(Ordering::Relaxed))
    }
}

impl Drop for StallMonitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a test, and repeats it if it failed while the machine stalled.
///
/// Stores mark a server as down if it does not answer in time, so a stalled machine changes the
/// answers of tests that are not about deadlines. A failure without a stall counts at once, and so
/// does the tenth in a row.
pub fn retry_if_stalled(test: impl Fn()) {
    retry(test, StallMonitor::longest);
}

/// Repeats a test for as long as `stalled` excuses its failures.
fn retry(test: impl Fn(), stalled: impl Fn(&StallMonitor) -> Duration) {
    for _ in 1..ATTEMPTS {
        let monitor = StallMonitor::start();
        let Err(panic) = catch_unwind(AssertUnwindSafe(&test)) else { return };
        let stalled = stalled(&monitor);
        if stalled < LONG_STALL {
            resume_unwind(panic);
        }
        #[allow(clippy::print_stderr, reason = "the log of a test says why it ran again")]
        {
            eprintln!("the test failed while the machine stalled for {stalled:?}; it runs again");
        }
    }
    test();
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often a test with this number of failures runs, and whether it passes in the end.
    fn runs(failures: usize, stalled: Duration) -> (usize, bool) {
        let runs = Cell::new(0);
        let test = || {
            runs.set(runs.get() + 1);
            assert!(runs.get() > failures, "as if a deadline had passed");
        };
        let passed = catch_unwind(AssertUnwindSafe(|| retry(test, |_| stalled))).is_ok();
        (runs.get(), passed)
    }

    #[test]
    fn only_a_failure_during_a_stall_is_repeated() {
        assert_eq!(runs(0, LONG_STALL), (1, true));
        assert_eq!(runs(2, LONG_STALL), (3, true));
        assert_eq!(runs(1, LONG_STALL.saturating_sub(INTERVAL)), (1, false));
        assert_eq!(runs(usize::MAX, LONG_STALL), (ATTEMPTS, false), "not for ever");
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "compared with a stall that was measured")]
    fn a_stall_is_at_most_the_elapsed_time() {
        let began = Instant::now();
        let monitor = StallMonitor::start();
        crate::wait_until("a wakeup is late", crate::PATIENCE, || !monitor.longest().is_zero());
        assert!(monitor.longest() < began.elapsed());
    }
}
