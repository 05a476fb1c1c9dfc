//! Counts and latencies of answers.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::decided_by::DecisionSources;
use super::pace::StartReason;

/// The outcome of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Allowed,
    Refused,
    /// An answer without a decision.
    Failed,
}

/// The counts and latencies of answers.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    pub(super) allowed: u64,
    pub(super) refused: u64,
    pub(super) errors: u64,
    /// Decisions without the store, if that is known.
    pub(super) by: Option<DecisionSources>,
    /// The latency of answers, in microseconds.
    pub(super) waits: Histogram<u64>,
    /// The time from due to sent, in microseconds, of requests that only the client could delay.
    pub(super) delays: Histogram<u64>,
    /// Requests that were due before the previous answer.
    pub(super) held_up: u64,
    /// From the first request to the last answer.
    pub(super) took: Duration,
    /// The first error.
    pub(super) first_error: Option<String>,
}

impl Tally {
    /// The longest latency in the histogram; longer ones count as this.
    const MAX_MICROS: u64 = 60_000_000;

    pub(super) fn new() -> Self {
        let waits = Histogram::new_with_bounds(1, Self::MAX_MICROS, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are in order"));
        let delays = waits.clone();
        let (allowed, refused, errors, held_up) = (0, 0, 0, 0);
        let (took, first_error, by) = (Duration::ZERO, None, Some(DecisionSources::default()));
        Self { allowed, refused, errors, by, waits, delays, held_up, took, first_error }
    }

    /// Counts requests at their sending, with their delay since they were due.
    pub(super) fn sent(
        &mut self,
        began: StartReason,
        count: u32,
        delay: impl FnOnce() -> Duration,
    ) {
        match began {
            StartReason::AtOnce => {}
            StartReason::HeldUp => self.held_up += u64::from(count),
            StartReason::WhenDue => self.delays.saturating_record_n(micros(delay()), count.into()),
        }
    }

    pub(super) fn add(&mut self, outcome: CallOutcome, wait: Duration) {
        match outcome {
            CallOutcome::Allowed => self.allowed += 1,
            CallOutcome::Refused => self.refused += 1,
            CallOutcome::Failed => self.errors += 1,
        }
        self.waits.saturating_record(micros(wait));
    }

    /// Counts an error of a connection.
    pub(super) fn fail(&mut self, error: impl FnOnce() -> String) {
        self.errors += 1;
        self.first_error.get_or_insert_with(error);
    }

    pub(super) fn answers(&self) -> u64 {
        self.allowed + self.refused + self.errors
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.allowed += other.allowed;
        self.refused += other.refused;
        self.errors += other.errors;
        if let (Some(by), Some(other)) = (&mut self.by, other.by) {
            by.merge(other);
        }
        self.held_up += other.held_up;
        self.took = self.took.max(other.took);
        // Cannot fail, because all histograms have the same bounds.
        let _ = self.waits.add(&other.waits);
        let _ = self.delays.add(&other.delays);
        self.first_error = self.first_error.take().or(other.first_error);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_up_requests_have_no_send_delay() {
        let mut tally = Tally::new();
        let mut other = Tally::new();
        other.sent(StartReason::WhenDue, 2, || Duration::from_micros(40));
        other.sent(StartReason::HeldUp, 3, || Duration::from_secs(1));
        other.sent(StartReason::AtOnce, 5, || Duration::from_secs(1));
        tally.merge(other);
        assert_eq!((tally.delays.len(), tally.delays.max(), tally.held_up), (2, 40, 3));
        assert_eq!((tally.answers(), tally.waits.len()), (0, 0));
    }
}
