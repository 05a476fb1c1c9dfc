//! The timeouts of a connection, with one runtime timer for all heads and bodies.
//!
//! A runtime timer for each of them would cost more than reading them. Here a wait only stores its
//! deadline. When the timer fires it checks the deadline, and is usually reset to a later one.

use std::future::{Future, poll_fn};
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use tokio::time::{Instant, sleep_until};

/// The deadline while nothing is awaited.
const NEVER: u64 = u64::MAX;

/// The timer of one connection.
#[derive(Debug, Clone)]
pub(super) struct ConnectionTimer(Arc<TimerState>);

#[derive(Debug)]
struct TimerState {
    start: Instant,
    /// The current deadline, in microseconds from the start.
    deadline: AtomicU64,
    /// Whether the deadline has passed.
    is_over: AtomicBool,
}

/// A future that is ready when its deadline has passed.
///
/// Only the latest of a connection counts: a body follows its head, and the next head the response.
#[derive(Debug)]
pub(super) struct Deadline(ConnectionTimer);

impl ConnectionTimer {
    pub(super) fn new() -> Self {
        let (deadline, is_over) = (AtomicU64::new(NEVER), AtomicBool::new(false));
        Self(Arc::new(TimerState { start: Instant::now(), deadline, is_over }))
    }

    /// Starts a wait of this length.
    pub(super) fn wait(&self, most: Duration) -> Deadline {
        self.wait_until(Instant::now() + most)
    }

    fn wait_until(&self, end: Instant) -> Deadline {
        let micros = end.saturating_duration_since(self.0.start).as_micros();
        self.0.is_over.store(false, Release);
        self.0.deadline.store(u64::try_from(micros).unwrap_or(NEVER - 1), Release);
        Deadline(self.clone())
    }

    /// Checks the deadline, and returns the time of the next check.
    fn check(&self, usual: Duration) -> Instant {
        let (now, deadline) = (Instant::now(), self.0.deadline.load(Acquire));
        if deadline == NEVER {
            return now + usual;
        }
        let end = self.0.start + Duration::from_micros(deadline);
        if end > now {
            return end;
        }
        self.0.is_over.store(true, Release);
        now + usual
    }

    /// Drives a future that uses this timer, and polls it again when a deadline has passed.
    ///
    /// No wait may be shorter than `usual`.
    pub(super) async fn drive<F: Future>(&self, usual: Duration, driven: F) -> F::Output {
        let mut driven = pin!(driven);
        let mut timer = pin!(sleep_until(Instant::now() + usual));
        let mut is_registered = false;
        poll_fn(|context| {
            loop {
                if let Poll::Ready(done) = driven.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                // One poll registers the waker until the timer fires; later polls only check it.
                let was_registered = replace(&mut is_registered, true);
                if (was_registered && !timer.is_elapsed())
                    || timer.as_mut().poll(context).is_pending()
                {
                    return Poll::Pending;
                }
                timer.as_mut().reset(self.check(usual));
                is_registered = false;
            }
        })
        .await
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // No waker: `drive` polls again when the deadline has passed.
        if self.0.0.is_over.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Sleep for Deadline {}

/// Used by hyper to wait for heads.
impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.wait(duration))
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.wait_until(deadline.into()))
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    const USUAL: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_after_its_duration() {
        let timer = ConnectionTimer::new();
        let start = Instant::now();
        let waits = async {
            // These end in time, and are dropped.
            for _ in 0..3 {
                let wait = timer.wait(USUAL);
                sleep(Duration::from_secs(6)).await;
                drop(wait);
            }
            // No wait is active while a response is computed.
            sleep(Duration::from_secs(100)).await;
            timer.wait(USUAL).await;
        };
        timer.drive(USUAL, waits).await;
        let took = start.elapsed().as_millis();
        assert!((128_000..128_010).contains(&took), "{took} ms");
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_wait_does_not_end_the_next() {
        let timer = ConnectionTimer::new();
        timer.drive(USUAL, timer.wait(USUAL)).await;
        let mut wait = pin!(timer.wait(USUAL));
        advance(Duration::from_secs(5)).await;
        timer.check(USUAL);
        let is_over = poll_fn(|context| Poll::Ready(wait.as_mut().poll(context).is_ready())).await;
        assert!(!is_over);
    }
}
