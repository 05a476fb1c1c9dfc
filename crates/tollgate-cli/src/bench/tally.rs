//! What has been answered, and how long that took.

use std::time::Duration;

use hdrhistogram::Histogram;

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
    /// How long answers took, in microseconds.
    pub(super) waits: Histogram<u64>,
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
        let (allowed, refused, errors) = (0, 0, 0);
        Self { allowed, refused, errors, waits, took: Duration::ZERO, complaint: None }
    }

    pub(super) fn add(&mut self, outcome: Outcome, wait: Duration) {
        match outcome {
            Outcome::Allowed => self.allowed += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Failed => self.errors += 1,
        }
        self.waits.saturating_record(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
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
        self.took = self.took.max(other.took);
        // Both have the same bounds.
        let _ = self.waits.add(&other.waits);
        self.complaint = self.complaint.take().or(other.complaint);
    }
}
