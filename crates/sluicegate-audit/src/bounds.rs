//! Bounds on the units admitted in every interval, in whole numbers.
//!
//! Units above a bound are no longer counted once they have been reported, so that each request
//! that should not have been admitted is one violation, and not all that follow it.

mod any_window;
mod calendar;
#[cfg(test)]
mod tests;
mod token_bucket;

use self::any_window::AnyWindowBound;
use self::calendar::CalendarBound;
use self::token_bucket::Envelope;
use crate::prepared_rule::AdmissionBound;

/// The units admitted in an interval, and the units allowed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeInterval {
    pub(crate) admitted: u64,
    pub(crate) allowed: u64,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl TimeInterval {
    pub(crate) const fn is_over(&self) -> bool {
        self.admitted > self.allowed
    }

    /// Returns whether this interval had less left, or as much after more admissions.
    pub(crate) fn is_tighter(&self, other: &Self) -> bool {
        let left = |interval: &Self| interval.allowed.saturating_sub(interval.admitted);
        (left(self), other.admitted) < (left(other), self.admitted)
    }
}

/// The relevant past admissions of one counter.
#[derive(Debug, Clone)]
pub(crate) enum BoundChecker {
    Envelope(Envelope),
    Calendar(CalendarBound),
    AnyWindowBound(AnyWindowBound),
}

impl BoundChecker {
    /// Creates a checker without admissions, for clocks with an error of `clock_error`.
    pub(crate) fn new(bound: AdmissionBound, clock_error: u64) -> Self {
        match bound {
            AdmissionBound::Envelope { amount, period, burst } => {
                Self::Envelope(Envelope::admitting(amount, period, burst, clock_error))
            }
            AdmissionBound::Releases { amount, period, places } => {
                Self::Envelope(Envelope::releasing(amount, period, places, clock_error))
            }
            AdmissionBound::Calendar { amount, per } => {
                Self::Calendar(CalendarBound::new(amount, per, clock_error))
            }
            AdmissionBound::AnySpan { amount, length } => {
                Self::AnyWindowBound(AnyWindowBound::new(&[(length, amount)], clock_error))
            }
            AdmissionBound::TwoSpans { amount, length, window } => {
                // Single units can come at both ends of a window.
                let twice = if amount == 1 { 2 } else { 2 * amount - 1 };
                Self::AnyWindowBound(AnyWindowBound::new(
                    &[(length, amount), (window, twice)],
                    clock_error,
                ))
            }
        }
    }

    /// Counts an admission at `at`; returns the tightest interval that ends there.
    ///
    /// `None` if the bound says nothing about it.
    pub(crate) fn admit(&mut self, at: u64, cost: u64) -> Option<TimeInterval> {
        match self {
            Self::Envelope(envelope) => Some(envelope.admit(at, cost)),
            Self::Calendar(calendar) => calendar.admit(at, cost),
            Self::AnyWindowBound(spans) => spans.admit(at, cost),
        }
    }

    /// Removes units that were refunded: they may be admitted again.
    pub(crate) fn refund(&mut self, units: u64) {
        match self {
            Self::Envelope(envelope) => envelope.refund(units),
            Self::Calendar(calendar) => calendar.refund(units),
            Self::AnyWindowBound(spans) => spans.refund(units),
        }
    }

    /// Clears the admissions after a reset of the counter.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::Envelope(envelope) => envelope.reset(),
            Self::Calendar(calendar) => calendar.reset(),
            Self::AnyWindowBound(spans) => spans.reset(),
        }
    }

    /// Loosens the bound by the admissions of nodes during outages.
    ///
    /// Up to `nodes` nodes, at least one, with a share each, in `outages` outages.
    pub(crate) fn loosen(&mut self, outages: u64, nodes: u64) {
        match self {
            Self::Envelope(envelope) => envelope.loosen(outages, nodes),
            Self::Calendar(calendar) => calendar.loosen(nodes),
            Self::AnyWindowBound(spans) => spans.loosen(nodes),
        }
    }

    /// Returns one budget, the amount that a loss of state grants again.
    pub(crate) fn budget(&self) -> u64 {
        match self {
            Self::Envelope(envelope) => envelope.budget(),
            Self::Calendar(calendar) => calendar.budget(),
            Self::AnyWindowBound(spans) => spans.budget(),
        }
    }
}
