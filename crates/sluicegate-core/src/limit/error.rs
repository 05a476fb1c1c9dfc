//! The error of a limit that cannot be created, with a nearby one that can.

use core::fmt;

use crate::limit::{Escalation, Limit};
use crate::quota::Quota;
use crate::time::Span;

/// The error of a limit that cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitError {
    name: Box<str>,
    reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    NameEmpty,
    NameTooLong { bytes: usize },
    ZeroBurst,
    BurstOnWindow { burst: u64 },
    CalendarTooShort,
    Months { months: u32, amount: u64 },
    BucketNotExact { quota: Quota, largest_burst: u64, rounder_amount: Option<u64> },
    RecoveryTooLong { capacity: u64, largest_burst: u64 },
    SliceCount { found: u32 },
    SlicesUneven { found: u32, window: Span },
    WindowNotExact { amount: u64, block: u64 },
    LogTooLong { amount: u64 },
    NoSlots,
    SpanOutOfRange { what: &'static str, found: Span },
    FailureCount { found: u64 },
    Escalation { escalation: Escalation, block: Span },
}

impl LimitError {
    pub(super) fn new(name: &str, reason: Reason) -> Self {
        let shown: String = name.chars().take(Limit::MAX_NAME).collect();
        Self { name: shown.into(), reason }
    }

    /// Returns the problem and a correction, without the name of the limit.
    pub fn reason(&self) -> impl fmt::Display + '_ {
        &self.reason
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot make the limit `{}`: {}", self.name.escape_debug(), self.reason)
    }
}

impl core::error::Error for LimitError {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameEmpty => f.write_str("its name is empty; give it one, as in `api`"),
            Self::NameTooLong { bytes } => {
                write!(f, "its name has {bytes} bytes; use at most {}", Limit::MAX_NAME)
            }
            Self::ZeroBurst => {
                f.write_str("a bucket of 0 never admits a request; use a burst of at least 1")
            }
            Self::BurstOnWindow { burst } => {
                write!(f, "a window has no burst; leave out `burst {burst}`, or use a token bucket")
            }
            Self::CalendarTooShort => f.write_str(
                "a calendar window shorter than 1s is over before it can be asked about; \
                 use at least 1s, or a sliding window",
            ),
            Self::Months { months, amount } => write!(
                f,
                "a month has no fixed length; write `{amount}/{}days`, or use a fixed window",
                u64::from(*months) * 30
            ),
            Self::BucketNotExact { quota, largest_burst, rounder_amount } => {
                write!(f, "`{quota}` cannot be counted exactly; ")?;
                match rounder_amount {
                    Some(amount) => {
                        write!(f, "the nearest round amount that can is {amount}, and ")?;
                    }
                    None => f.write_str("use a rounder amount, or ")?,
                }
                write!(f, "with this amount the largest burst is {largest_burst}")
            }
            Self::RecoveryTooLong { capacity, largest_burst } => write!(
                f,
                "a bucket of {capacity} would take more than 35 years to refill; \
                 at this rate use a burst of at most {largest_burst}"
            ),
            Self::SliceCount { found } => {
                write!(f, "a window cannot have {found} slices; use 1 to {}", Limit::MAX_SLICES)
            }
            Self::SlicesUneven { found, window } => {
                let fitting: Vec<_> = (1..=Limit::MAX_SLICES)
                    .filter(|slices| window.as_micros().is_multiple_of(u64::from(*slices)))
                    .min_by_key(|slices| slices.abs_diff(*found))
                    .into_iter()
                    .collect();
                write!(f, "{window} does not divide into {found} slices of whole microseconds")?;
                fitting.iter().try_for_each(|slices| write!(f, "; use {slices}"))
            }
            Self::WindowNotExact { amount, block } => write!(
                f,
                "{amount} in slices of {} cannot be weighted exactly; use a strict window, \
                 fewer units or a window of whole seconds",
                Span::from_micros(*block)
            ),
            Self::LogTooLong { amount } => write!(
                f,
                "a log of {amount} stamps is too long; use at most {}, or a strict sliding window, \
                 which never exceeds the amount either",
                Limit::MAX_LOG
            ),
            Self::NoSlots => f.write_str("0 in flight never admits a request; use at least 1 slot"),
            Self::SpanOutOfRange { what, found } => {
                write!(f, "a {what} of {found} is out of range; use 1us to 35 years (12775 days)")
            }
            Self::FailureCount { found } => write!(
                f,
                "a block after {found} failures is out of range; use 1 to {}",
                Limit::MAX_LOG
            ),
            Self::Escalation { escalation, block } => write!(
                f,
                "blocks that grow {}-fold from {block} up to {} do not grow; \
                 use a factor of at least 2 and a longest block of at least {block}",
                escalation.factor, escalation.max
            ),
        }
    }
}
