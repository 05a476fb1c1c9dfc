//! Whether too much was admitted, over every interval there is, in whole numbers.
//!
//! What is too much is left out of account once it has been reported, so that each request that
//! should not have been admitted is one violation, and not all that follow it.

mod calendar;
mod envelope;
mod spans;
#[cfg(test)]
mod tests;

use self::calendar::Calendar;
use self::envelope::Envelope;
use self::spans::Spans;
use crate::rule::Bound;

/// What was admitted in an interval, and how much would have been allowed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) admitted: u64,
    pub(crate) allowed: u64,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl Interval {
    pub(crate) const fn is_over(&self) -> bool {
        self.admitted > self.allowed
    }

    /// Whether less was left in this one than in the other, or as much after more.
    pub(crate) fn is_tighter(&self, other: &Self) -> bool {
        let left = |interval: &Self| interval.allowed.saturating_sub(interval.admitted);
        (left(self), other.admitted) < (left(other), self.admitted)
    }
}

/// What one counter has admitted so far, as far as it still matters.
#[derive(Debug, Clone)]
pub(crate) enum Safety {
    Envelope(Envelope),
    Calendar(Calendar),
    Spans(Spans),
}

impl Safety {
    /// Nothing admitted yet, under clocks that may be off by `clock_error`.
    pub(crate) fn new(bound: Bound, clock_error: u64) -> Self {
        match bound {
            Bound::Envelope { amount, period, burst } => {
                Self::Envelope(Envelope::admitting(amount, period, burst, clock_error))
            }
            Bound::Releases { amount, period, places } => {
                Self::Envelope(Envelope::releasing(amount, period, places, clock_error))
            }
            Bound::Calendar { amount, per } => {
                Self::Calendar(Calendar::new(amount, per, clock_error))
            }
            Bound::AnySpan { amount, length } => {
                Self::Spans(Spans::new(&[(length, amount)], clock_error))
            }
            Bound::TwoSpans { amount, length, window } => {
                // One unit at a time can come at both ends of a window.
                let twice = if amount == 1 { 2 } else { 2 * amount - 1 };
                Self::Spans(Spans::new(&[(length, amount), (window, twice)], clock_error))
            }
        }
    }

    /// Counts what was admitted at `at`; the tightest interval that ends there. `None` if nothing
    /// can be said about it.
    pub(crate) fn admit(&mut self, at: u64, cost: u64) -> Option<Interval> {
        match self {
            Self::Envelope(envelope) => Some(envelope.admit(at, cost)),
            Self::Calendar(calendar) => calendar.admit(at, cost),
            Self::Spans(spans) => spans.admit(at, cost),
        }
    }

    /// Units were given back: they may be admitted once more.
    pub(crate) fn give_back(&mut self, units: u64) {
        match self {
            Self::Envelope(envelope) => envelope.give_back(units),
            Self::Calendar(calendar) => calendar.give_back(units),
            Self::Spans(spans) => spans.give_back(units),
        }
    }

    /// The counter started afresh.
    pub(crate) fn forget(&mut self) {
        match self {
            Self::Envelope(envelope) => envelope.forget(),
            Self::Calendar(calendar) => calendar.forget(),
            Self::Spans(spans) => spans.forget(),
        }
    }

    /// Holds it to what the store and `nodes` nodes with a share each admit together, if there
    /// were so many outages; at least one.
    pub(crate) fn loosen(&mut self, outages: u64, nodes: u64) {
        match self {
            Self::Envelope(envelope) => envelope.loosen(outages, nodes),
            Self::Calendar(calendar) => calendar.loosen(nodes),
            Self::Spans(spans) => spans.loosen(nodes),
        }
    }

    /// One budget, as much as a loss of state hands out.
    pub(crate) fn budget(&self) -> u64 {
        match self {
            Self::Envelope(envelope) => envelope.budget(),
            Self::Calendar(calendar) => calendar.budget(),
            Self::Spans(spans) => spans.budget(),
        }
    }
}
