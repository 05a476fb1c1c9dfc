//! When the next requests are due.

use std::time::{Duration, Instant};

use tokio::time::sleep_until;

/// When the requests of one connection are due.
#[derive(Debug)]
pub(super) struct Pace {
    /// Between two of its batches; none where each follows the one before.
    every: Option<Duration>,
    due: Instant,
    end: Instant,
}

impl Pace {
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
        Self { every, due: start + offset, end }
    }

    /// Waits until the next batch is due. The moment from which its wait is counted: that at which
    /// it was due, even if the connection was still busy then, for somebody would have been waiting.
    /// `None` once it is over.
    pub(super) async fn next(&mut self) -> Option<Instant> {
        let Some(every) = self.every else {
            let now = Instant::now();
            return (now < self.end).then_some(now);
        };
        let due = self.due;
        if due >= self.end || Instant::now() >= self.end {
            return None;
        }
        self.due += every;
        sleep_until(due.into()).await;
        Some(due)
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
            assert_eq!(pace.next().await, Some(due));
        }
    }

    #[tokio::test]
    async fn it_ends() {
        let start = Instant::now();
        assert_eq!(Pace::new(None, (0, 1), 1, start, start).next().await, None);
        assert_eq!(Pace::new(Some(1), (0, 1), 1, start, start).next().await, None);
    }
}
