//! What has been answered, and how long that took.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::decided_by::DecidedBy;
use super::pace::Began;

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Allowed,
    Refused,
    /// An answer that is no decision.
    Failed,
}

/// What has been answered.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    pub(super) allowed: u64,
    pub(super) refused: u64,
    pub(super) errors: u64,
    /// Decisions made without the store, if that is known.
    pub(super) by: Option<DecidedBy>,
    /// How long answers took, in microseconds.
    pub(super) waits: Histogram<u64>,
    /// From when requests were due until they were sent, in microseconds, where nothing but
    /// ourselves could delay them.
    pub(super) delays: Histogram<u64>,
    /// Requests that were due before the one before them was answered.
    pub(super) held_up: u64,
    /// From the first request to the last answer.
    pub(super) took: Duration,
    /// The first thing that went wrong.
    pub(super) complaint: Option<String>,
}

impl Tally {
    /// The longest wait that is told apart.
    const LONGEST: u64 = 60_000_000;

    pub(super) fn new() -> Self {
        let waits = Histogram::new_with_bounds(1, Self::LONGEST, 3)
            .unwrap_or_else(|_| unreachable!("the bounds are in order"));
        let delays = waits.clone();
        let (allowed, refused, errors, held_up) = (0, 0, 0, 0);
        let (took, complaint, by) = (Duration::ZERO, None, Some(DecidedBy::default()));
        Self { allowed, refused, errors, by, waits, delays, held_up, took, complaint }
    }

    /// So many requests are sent, this long after they were due.
    pub(super) fn sent(&mut self, began: Began, count: u32, delay: impl FnOnce() -> Duration) {
        match began {
            Began::AtOnce => {}
            Began::HeldUp => self.held_up += u64::from(count),
            Began::WhenDue => self.delays.saturating_record_n(micros(delay()), count.into()),
        }
    }

    pub(super) fn add(&mut self, outcome: Outcome, wait: Duration) {
        match outcome {
            Outcome::Allowed => self.allowed += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Failed => self.errors += 1,
        }
        self.waits.saturating_record(micros(wait));
    }

    /// Something went wrong with a connection.
    pub(super) fn complain(&mut self, complaint: impl FnOnce() -> String) {
        self.errors += 1;
        self.complaint.get_or_insert_with(complaint);
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
        // They all have the same bounds.
        let _ = self.waits.add(&other.waits);
        let _ = self.delays.add(&other.delays);
        self.complaint = self.complaint.take().or(other.complaint);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_held_up_is_not_our_delay() {
        let mut tally = Tally::new();
        let mut other = Tally::new();
        other.sent(Began::WhenDue, 2, || Duration::from_micros(40));
        other.sent(Began::HeldUp, 3, || Duration::from_secs(1));
        other.sent(Began::AtOnce, 5, || Duration::from_secs(1));
        tally.merge(other);
        assert_eq!((tally.delays.len(), tally.delays.max(), tally.held_up), (2, 40, 3));
        assert_eq!((tally.answers(), tally.waits.len()), (0, 0));
    }
}
