//! The schedule of requests on a connection.

use std::io;
use std::time::{Duration, Instant};

use super::timer::Timer;

/// The resolution of wake-ups in nanoseconds.
///
/// Connections that are due within it share the cost of waking up, which is a fifth of the whole
/// cost at 30,000 requests a second.
const GRAIN: u32 = 50_000;

/// The schedule of one connection.
#[derive(Debug)]
pub(super) struct Pace {
    /// The time between two batches, or `None` in a closed loop: each follows the previous answer.
    every: Option<Duration>,
    due: Instant,
    start: Instant,
    end: Instant,
    /// Created by the first wait.
    timer: Option<Timer>,
}

/// A batch to send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueBatch {
    /// The scheduled time, from which latency is measured.
    pub(super) due: Instant,
    pub(super) began: StartReason,
}

/// The reason why a batch is not sent earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartReason {
    /// It follows the previous answer, in a closed loop.
    AtOnce,
    /// The client waited until it was due: a delay in sending it is the client's own.
    WhenDue,
    /// The previous batch was still in flight when it was due.
    HeldUp,
}

impl Pace {
    /// The time for opening so many connections before the first batch is due.
    pub(super) fn lead_time(rate: Option<u64>, connections: u32) -> Duration {
        match rate {
            None => Duration::ZERO,
            Some(_) => Duration::from_millis(100) + Duration::from_micros(100) * connections,
        }
    }

    /// Creates the schedule of one of `connections`, which send batches at a total `rate`.
    pub(super) fn new(
        rate: Option<u64>,
        (connection, connections): (u32, u32),
        batch: u32,
        start: Instant,
        end: Instant,
    ) -> Self {
        let every = rate.map(|rate| {
            #[allow(clippy::cast_precision_loss, reason = "rates are far below 2^52")]
            Duration::from_secs_f64(f64::from(batch) * f64::from(connections) / rate as f64)
        });
        // Spread over the interval, so that connections do not send all at once.
        let offset =
            every.unwrap_or_default().mul_f64(f64::from(connection) / f64::from(connections));
        Self { every, due: start + offset, start, end, timer: None }
    }

    /// Waits until the next batch is due. Returns `None` at the end of the run.
    ///
    /// Latency is measured from the scheduled time even if the connection was still busy then,
    /// because a real caller would have waited (this avoids coordinated omission).
    pub(super) async fn next(&mut self) -> io::Result<Option<DueBatch>> {
        let now = Instant::now();
        let Some(every) = self.every else {
            return Ok(
                (now < self.end).then_some(DueBatch { due: now, began: StartReason::AtOnce })
            );
        };
        let due = self.due;
        if due >= self.end || now >= self.end {
            return Ok(None);
        }
        self.due += every;
        if now >= due {
            return Ok(Some(DueBatch { due, began: StartReason::HeldUp }));
        }
        let wake_at = due + self.to_grain(due);
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(Timer::new()?),
        };
        timer.wait_until(wake_at).await?;
        Ok(Some(DueBatch { due, began: StartReason::WhenDue }))
    }

    /// The time from `due` until the next wake-up.
    fn to_grain(&self, due: Instant) -> Duration {
        // A second is a multiple of the grain, so the nanoseconds suffice.
        let over = due.saturating_duration_since(self.start).subsec_nanos() % GRAIN;
        Duration::from_nanos(if over == 0 { 0 } else { (GRAIN - over).into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_held_up_batch_is_due_at_its_scheduled_time() {
        let start = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        let end = start + Duration::from_secs(100);
        // Two connections, ten at a time, a hundred a second: each every 200 ms.
        let mut pace = Pace::new(Some(100), (1, 2), 10, start, end);
        for number in 0..4_u32 {
            let due = start + Duration::from_millis(100) + Duration::from_millis(200) * number;
            let turn = DueBatch { due, began: StartReason::HeldUp };
            assert_eq!(pace.next().await.unwrap(), Some(turn));
        }
    }

    #[tokio::test]
    async fn ends_at_the_end_of_the_run() {
        let start = Instant::now();
        for rate in [None, Some(1)] {
            let turn = Pace::new(rate, (0, 1), 1, start, start).next().await.unwrap();
            assert_eq!(turn, None);
        }
    }

    #[test]
    fn wake_ups_are_rounded_up_to_the_grain() {
        let start = Instant::now();
        let pace = Pace::new(Some(1), (0, 1), 1, start, start + Duration::from_secs(100));
        let (second, micro) = (1_000_000_000, 1_000);
        for (due, woken) in [
            (0, 0),
            (1, 50 * micro),
            (50 * micro, 50 * micro),
            (50 * micro + 1, 100 * micro),
            (7 * second - 1, 7 * second),
            (7 * second + 60 * micro, 7 * second + 100 * micro),
        ] {
            let due = start + Duration::from_nanos(due);
            assert_eq!(due + pace.to_grain(due), start + Duration::from_nanos(woken));
        }
    }

    #[tokio::test]
    async fn waits_for_a_batch_that_is_due_later() {
        let start = Instant::now() + Pace::lead_time(Some(2_000), 1);
        let end = start + Duration::from_secs(100);
        let mut pace = Pace::new(Some(2_000), (0, 1), 1, start, end);
        let turn = pace.next().await.unwrap();
        assert_eq!(turn, Some(DueBatch { due: start, began: StartReason::WhenDue }));
        assert!(Instant::now() >= start);
        // A closed loop does not wait.
        let turn = Pace::new(None, (0, 1), 1, start, end).next().await.unwrap();
        assert_eq!(turn.unwrap().began, StartReason::AtOnce);
    }
}
