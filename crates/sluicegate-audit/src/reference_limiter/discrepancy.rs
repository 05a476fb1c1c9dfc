//! Discrepancies between a decision and an exact limiter.

use std::fmt;

use sluicegate_core::{Decision, Refusal, Span};

use crate::decision_source::DecisionSource;
use crate::findings::ViolationKind;
use crate::trace::entry::TraceEntry;

/// A discrepancy of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discrepancy {
    /// It was allowed without enough units left.
    NotThere {
        left: u64,
    },
    /// It was refused with enough units left.
    Refused {
        left: u64,
    },
    Remaining {
        reported: u64,
        least: u64,
        most: u64,
    },
    Delay {
        reported: u64,
        least: u64,
        most: u64,
    },
    RetryAfter {
        reported: Option<u64>,
        expected: Option<(u64, u64)>,
    },
}

impl Discrepancy {
    pub(crate) const fn kind(self) -> ViolationKind {
        match self {
            Self::NotThere { .. } => ViolationKind::OverAdmitted,
            Self::Refused { .. } => ViolationKind::WrongRefusal,
            Self::Remaining { .. } => ViolationKind::WrongRemaining,
            Self::Delay { .. } => ViolationKind::WrongDelay,
            Self::RetryAfter { .. } => ViolationKind::WrongRetryAfter,
        }
    }

    /// Compares an allowed request with the least used counter, which allows it too.
    ///
    /// The result for the most used counter may be unknown.
    pub(super) fn about_allowed(
        entry: &TraceEntry,
        least: &Decision,
        most: Option<&Decision>,
    ) -> Option<Self> {
        // More usage means fewer units remaining.
        let highest = least.remaining();
        let fewest = most.map_or(0, |most| most.remaining().min(highest));
        if let Some(reported) = entry.remaining
            && !(fewest..=highest).contains(&reported)
        {
            return Some(Self::Remaining { reported, least: fewest, most: highest });
        }
        let shortest = least.delay().as_micros();
        let longest = most.filter(|most| most.is_allowed()).map(|most| most.delay().as_micros());
        let (reported, longest) = (entry.delay_us, longest.unwrap_or(u64::MAX));
        if !(shortest..=longest.max(shortest)).contains(&reported) {
            return Some(Self::Delay { reported, least: shortest, most: longest });
        }
        None
    }

    /// Compares a refusal.
    pub(super) fn about_refused(
        entry: &TraceEntry,
        least: &Decision,
        most: Option<&Decision>,
    ) -> Option<Self> {
        if let Some(most) = most.filter(|most| most.is_allowed()) {
            return Some(Self::Refused { left: most.remaining().saturating_add(most.granted()) });
        }
        let micros = |decision: &Decision| decision.retry_after().map(Span::as_micros);
        let never = least.refusal() == Some(Refusal::CostAboveLimit);
        let shortest = micros(least).unwrap_or(1);
        let longest = most.map_or(Some(u64::MAX), micros).unwrap_or(u64::MAX);
        let right = match entry.retry_after_us {
            None => never,
            Some(0) => false,
            Some(_) if never => false,
            // Shorter is possible: other callers may have taken units since the cached refusal.
            Some(reported) if entry.source == DecisionSource::Cached => reported <= longest,
            Some(reported) => (shortest..=longest).contains(&reported),
        };
        let reported = entry.retry_after_us;
        let expected = (!never).then_some((shortest, longest));
        (!right).then_some(Self::RetryAfter { reported, expected })
    }
}

/// A number, or a range of numbers.
struct AllowedRange(u64, u64);

impl fmt::Display for AllowedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(least, most) = *self;
        if least == most {
            write!(f, "{least}")
        } else if most == u64::MAX {
            write!(f, "at least {least}")
        } else {
            write!(f, "{least} to {most}")
        }
    }
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotThere { left } => {
                write!(f, "was allowed, but an exact limiter had {left} left")
            }
            Self::Refused { left } => {
                write!(f, "was refused, but an exact limiter had {left} left")
            }
            Self::Remaining { reported, least, most } => {
                write!(f, "got {reported} remaining; expected {}", AllowedRange(least, most))
            }
            Self::Delay { reported, least, most } => {
                write!(f, "got a delay of {reported} us; expected {}", AllowedRange(least, most))
            }
            Self::RetryAfter { reported, expected } => {
                match reported {
                    Some(reported) => write!(f, "got a retry after {reported} us; ")?,
                    None => f.write_str("got no time to retry after; ")?,
                }
                match expected {
                    None => f.write_str("it can never be admitted"),
                    Some((least, most)) => write!(f, "expected {} us", AllowedRange(least, most)),
                }
            }
        }
    }
}
