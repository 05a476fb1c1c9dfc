//! What is not true about an answer, seen from an exact limiter.

use std::fmt;

use sluicegate_core::{Decision, Refusal, Span};

use crate::entry::Entry;
use crate::findings::ViolationKind;
use crate::source::Source;

/// What is not true about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It was allowed, and the units were not there.
    NotThere {
        left: u64,
    },
    /// It was refused, and the units were there.
    Refused {
        left: u64,
    },
    Remaining {
        said: u64,
        least: u64,
        most: u64,
    },
    Delay {
        said: u64,
        least: u64,
        most: u64,
    },
    RetryAfter {
        said: Option<u64>,
        expected: Option<(u64, u64)>,
    },
}

impl Wrong {
    pub(crate) const fn kind(self) -> ViolationKind {
        match self {
            Self::NotThere { .. } => ViolationKind::OverAdmitted,
            Self::Refused { .. } => ViolationKind::WrongRefusal,
            Self::Remaining { .. } => ViolationKind::WrongRemaining,
            Self::Delay { .. } => ViolationKind::WrongDelay,
            Self::RetryAfter { .. } => ViolationKind::WrongRetryAfter,
        }
    }

    /// About something allowed, which the counter with the least on it allows too. What the one
    /// with the most on it says may not be known.
    pub(super) fn about_allowed(
        entry: &Entry,
        least: &Decision,
        most: Option<&Decision>,
    ) -> Option<Self> {
        // More on the counter means less that remains.
        let highest = least.remaining();
        let fewest = most.map_or(0, |most| most.remaining().min(highest));
        if let Some(said) = entry.remaining
            && !(fewest..=highest).contains(&said)
        {
            return Some(Self::Remaining { said, least: fewest, most: highest });
        }
        let shortest = least.delay().as_micros();
        let longest = most.filter(|most| most.is_allowed()).map(|most| most.delay().as_micros());
        let (said, longest) = (entry.delay_us, longest.unwrap_or(u64::MAX));
        if !(shortest..=longest.max(shortest)).contains(&said) {
            return Some(Self::Delay { said, least: shortest, most: longest });
        }
        None
    }

    /// About a refusal.
    pub(super) fn about_refused(
        entry: &Entry,
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
            // Somebody else may have taken units since the refusal that is remembered.
            Some(said) if entry.source == Source::Cached => said <= longest,
            Some(said) => (shortest..=longest).contains(&said),
        };
        let said = entry.retry_after_us;
        let expected = (!never).then_some((shortest, longest));
        (!right).then_some(Self::RetryAfter { said, expected })
    }
}

/// One number, or two that it has to lie between.
struct Range(u64, u64);

impl fmt::Display for Range {
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

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotThere { left } => {
                write!(f, "was allowed, but an exact limiter had {left} left")
            }
            Self::Refused { left } => {
                write!(f, "was refused, but an exact limiter had {left} left")
            }
            Self::Remaining { said, least, most } => {
                write!(f, "was told {said} remaining; it is {}", Range(least, most))
            }
            Self::Delay { said, least, most } => {
                write!(f, "was told a delay of {said} us; it is {}", Range(least, most))
            }
            Self::RetryAfter { said, expected } => {
                match said {
                    Some(said) => write!(f, "was told to retry after {said} us; ")?,
                    None => f.write_str("was told no time to retry after; ")?,
                }
                match expected {
                    None => f.write_str("it is never admitted"),
                    Some((least, most)) => write!(f, "it is {} us", Range(least, most)),
                }
            }
        }
    }
}
