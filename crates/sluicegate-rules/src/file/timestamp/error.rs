//! Errors of timestamps, with the correct format.

use std::fmt;

use sluicegate::Time;

/// The reason why a text is not a timestamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstantError {
    /// The text does not have the format of a timestamp.
    Shape {
        /// The text.
        found: String,
    },
    /// The date does not exist.
    NoSuchDate {
        /// The text.
        found: String,
    },
    /// The time of day does not exist.
    NoSuchTime {
        /// The text.
        found: String,
    },
    /// The time of day is `24:00`.
    EndOfDay {
        /// The day that starts then.
        next_day: String,
    },
    /// The offset from UTC is not valid.
    Offset {
        /// The text.
        found: String,
        /// The offset.
        offset: String,
    },
    /// The time is before 1970 or after [`Time::MAX`].
    OutOfRange {
        /// The text.
        found: String,
    },
}

impl InstantError {
    pub(super) fn shape(found: &str) -> Self {
        Self::Shape { found: found.to_owned() }
    }
}

/// The year of [`Time::MAX`], which is in September.
const LAST_YEAR: u64 = 1970 + Time::MAX.as_micros() / 31_556_952_000_000;

impl fmt::Display for InstantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { found } => write!(
                f,
                "`{found}` is not a date and time; write `2026-11-27`, `2026-11-27T09:30` in local time, \
                 or `2026-11-27T09:30:00+01:00`"
            ),
            Self::NoSuchDate { found } => write!(
                f,
                "the date `{found}` does not exist; write year, month and day, as in `2026-11-27`"
            ),
            Self::NoSuchTime { found } => {
                write!(f, "the time `{found}` does not exist; use 00:00 to 23:59:59")
            }
            Self::EndOfDay { next_day } => {
                write!(f, "the time `24:00` is that of the next day; write `{next_day}T00:00`")
            }
            Self::Offset { found, offset } => write!(
                f,
                "`{offset}` in `{found}` is not an offset from UTC; use `Z` or hours and minutes \
                 as in `+01:00`, or remove it for local time"
            ),
            Self::OutOfRange { found } => {
                write!(f, "`{found}` is out of range; use a year from 1970 to {LAST_YEAR}")
            }
        }
    }
}

impl std::error::Error for InstantError {}
