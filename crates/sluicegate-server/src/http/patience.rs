//! How long the other end of a connection is waited for: one timer for every head and body it sends.
//!
//! A timer of the runtime for each of them costs more than reading it. Here a wait only says until
//! when it lasts; the one timer looks at that when it has run down, and is usually sent on.

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

/// Nobody is waited for.
const NOBODY: u64 = u64::MAX;

/// How long one connection is waited for.
#[derive(Debug, Clone)]
pub(super) struct Patience(Arc<Waited>);

#[derive(Debug)]
struct Waited {
    start: Instant,
    /// Until when somebody is waited for, in microseconds from the start.
    until: AtomicU64,
    /// Whether that has passed.
    is_over: AtomicBool,
}

/// A wait that is ready when it has lasted too long. There is one at a time, and the latest counts: a
/// body follows its head, and the next head the answer.
#[derive(Debug)]
pub(super) struct Wait(Patience);

impl Patience {
    pub(super) fn new() -> Self {
        let (until, is_over) = (AtomicU64::new(NOBODY), AtomicBool::new(false));
        Self(Arc::new(Waited { start: Instant::now(), until, is_over }))
    }

    /// A wait that is over after this long.
    pub(super) fn wait(&self, most: Duration) -> Wait {
        self.wait_until(Instant::now() + most)
    }

    fn wait_until(&self, end: Instant) -> Wait {
        let micros = end.saturating_duration_since(self.0.start).as_micros();
        self.0.is_over.store(false, Release);
        self.0.until.store(u64::try_from(micros).unwrap_or(NOBODY - 1), Release);
        Wait(self.clone())
    }

    /// Looks whether a wait is over, and says when to look again.
    fn look(&self, usual: Duration) -> Instant {
        let (now, until) = (Instant::now(), self.0.until.load(Acquire));
        if until == NOBODY {
            return now + usual;
        }
        let end = self.0.start + Duration::from_micros(until);
        if end > now {
            return end;
        }
        self.0.is_over.store(true, Release);
        now + usual
    }

    /// Drives what may wait. It is looked at when a wait is over; no wait may be shorter than `usual`.
    pub(super) async fn drive<F: Future>(&self, usual: Duration, driven: F) -> F::Output {
        let mut driven = pin!(driven);
        let mut timer = pin!(sleep_until(Instant::now() + usual));
        let mut is_woken = false;
        poll_fn(|context| {
            loop {
                if let Poll::Ready(done) = driven.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                // Asked to wake this task once, it does so whenever that may be; a look will do then.
                let asked = replace(&mut is_woken, true);
                if (asked && !timer.is_elapsed()) || timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                timer.as_mut().reset(self.look(usual));
                is_woken = false;
            }
        })
        .await
    }
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // Whoever drives it looks again when it is over.
        if self.0.0.is_over.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Sleep for Wait {}

/// For hyper, which waits for heads.
impl Timer for Patience {
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
    async fn a_wait_is_over_when_it_has_lasted_long_enough() {
        let patience = Patience::new();
        let start = Instant::now();
        let waits = async {
            // Answered in time: these are forgotten.
            for _ in 0..3 {
                let wait = patience.wait(USUAL);
                sleep(Duration::from_secs(6)).await;
                drop(wait);
            }
            // Nobody is waited for while an answer is made.
            sleep(Duration::from_secs(100)).await;
            patience.wait(USUAL).await;
        };
        patience.drive(USUAL, waits).await;
        let took = start.elapsed().as_millis();
        assert!((128_000..128_010).contains(&took), "{took} ms");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_not_over_because_one_before_it_was() {
        let patience = Patience::new();
        patience.drive(USUAL, patience.wait(USUAL)).await;
        let mut wait = pin!(patience.wait(USUAL));
        advance(Duration::from_secs(5)).await;
        patience.look(USUAL);
        let is_over = poll_fn(|context| Poll::Ready(wait.as_mut().poll(context).is_ready())).await;
        assert!(!is_over);
    }
}
