//! When the next requests are due.

use std::io;
use std::time::{Duration, Instant};

use super::timer::Timer;

/// Connections are woken at multiples of this many nanoseconds: those that are due within it share
/// the cost of waking up, which is a fifth of all that is spent on asking 30,000 times a second.
const GRAIN: u32 = 50_000;

/// When the requests of one connection are due.
#[derive(Debug)]
pub(super) struct Pace {
    /// Between two of its batches; none where each follows the one before.
    every: Option<Duration>,
    due: Instant,
    start: Instant,
    end: Instant,
    /// Made when it is first waited for.
    timer: Option<Timer>,
}

/// A batch that is to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// The moment from which its wait is counted.
    pub(super) due: Instant,
    pub(super) began: Began,
}

/// Why a batch is sent no earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Began {
    /// It follows the one before.
    AtOnce,
    /// It was waited for until it was due: if it is sent later, that is our doing.
    WhenDue,
    /// When it was due, the one before was still under way.
    HeldUp,
}

impl Pace {
    /// How long so many connections may take to be made before the first batch is due.
    pub(super) fn lead(rate: Option<u64>, connections: u32) -> Duration {
        match rate {
            None => Duration::ZERO,
            Some(_) => Duration::from_millis(100) + Duration::from_micros(100) * connections,
        }
    }

    /// For one of so many connections, which send this many at a time, all of them together at
    /// this rate.
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
        // Spread, so that they do not all send at once.
        let offset =
            every.unwrap_or_default().mul_f64(f64::from(connection) / f64::from(connections));
        Self { every, due: start + offset, start, end, timer: None }
    }

    /// Waits until the next batch is due. Its wait is counted from the moment at which it was due,
    /// even if the connection was still busy then, for somebody would have been waiting. `None` once
    /// it is over.
    pub(super) async fn next(&mut self) -> io::Result<Option<Turn>> {
        let now = Instant::now();
        let Some(every) = self.every else {
            return Ok((now < self.end).then_some(Turn { due: now, began: Began::AtOnce }));
        };
        let due = self.due;
        if due >= self.end || now >= self.end {
            return Ok(None);
        }
        self.due += every;
        if now >= due {
            return Ok(Some(Turn { due, began: Began::HeldUp }));
        }
        let woken = due + self.to_grain(due);
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(Timer::new()?),
        };
        timer.wait_until(woken).await?;
        Ok(Some(Turn { due, began: Began::WhenDue }))
    }

    /// How long it is until connections are woken next.
    fn to_grain(&self, due: Instant) -> Duration {
        // A second is a multiple of it, so that whole seconds need not be looked at.
        let over = due.saturating_duration_since(self.start).subsec_nanos() % GRAIN;
        Duration::from_nanos(if over == 0 { 0 } else { (GRAIN - over).into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_batch_that_was_held_up_has_waited_since_it_was_due() {
        let start = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        let end = start + Duration::from_secs(100);
        // Two connections, ten at a time, a hundred a second: each every 200 ms.
        let mut pace = Pace::new(Some(100), (1, 2), 10, start, end);
        for number in 0..4_u32 {
            let due = start + Duration::from_millis(100) + Duration::from_millis(200) * number;
            let turn = Turn { due, began: Began::HeldUp };
            assert_eq!(pace.next().await.unwrap(), Some(turn));
        }
    }

    #[tokio::test]
    async fn it_ends() {
        let start = Instant::now();
        for rate in [None, Some(1)] {
            let turn = Pace::new(rate, (0, 1), 1, start, start).next().await.unwrap();
            assert_eq!(turn, None);
        }
    }

    #[test]
    fn connections_are_woken_together_and_never_early() {
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
    async fn a_batch_that_is_due_later_is_waited_for() {
        let start = Instant::now() + Pace::lead(Some(2_000), 1);
        let end = start + Duration::from_secs(100);
        let mut pace = Pace::new(Some(2_000), (0, 1), 1, start, end);
        let turn = pace.next().await.unwrap();
        assert_eq!(turn, Some(Turn { due: start, began: Began::WhenDue }));
        assert!(Instant::now() >= start);
        // Without a rate nothing is waited for.
        let turn = Pace::new(None, (0, 1), 1, start, end).next().await.unwrap();
        assert_eq!(turn.unwrap().began, Began::AtOnce);
    }
}
