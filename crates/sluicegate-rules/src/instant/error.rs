//! What can be wrong with a moment, and what would be right.

use std::fmt;

use sluicegate::Time;

/// A moment that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstantError {
    /// Not written like a moment.
    Shape {
        /// What is written.
        found: String,
    },
    /// A date that no year has.
    NoSuchDate {
        /// What is written.
        found: String,
    },
    /// A time that no day has.
    NoSuchTime {
        /// What is written.
        found: String,
    },
    /// `24:00`.
    EndOfDay {
        /// The day that begins then.
        next_day: String,
    },
    /// Not an offset from UTC.
    Offset {
        /// What is written.
        found: String,
        /// The part of it that is wrong.
        offset: String,
    },
    /// Before 1970 or after the last moment that can be told.
    OutOfRange {
        /// What is written.
        found: String,
    },
}

impl InstantError {
    pub(super) fn shape(found: &str) -> Self {
        Self::Shape { found: found.to_owned() }
    }
}

/// The year of [`Time::MAX`], which is in the middle of September.
const LAST_YEAR: u64 = 1970 + Time::MAX.as_micros() / 31_556_952_000_000;

impl fmt::Display for InstantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { found } => write!(
                f,
                "`{found}` is not a moment; write `2026-11-27`, `2026-11-27T09:30` in local time, \
                 or `2026-11-27T09:30:00+01:00`"
            ),
            Self::NoSuchDate { found } => write!(
                f,
                "there is no `{found}` in the calendar; dates are year, month and day, \
                 as in `2026-11-27`"
            ),
            Self::NoSuchTime { found } => {
                write!(f, "no day has a `{found}`; times run from 00:00 to 23:59:59")
            }
            Self::EndOfDay { next_day } => {
                write!(f, "a moment cannot be at `24:00`; write `{next_day}T00:00`")
            }
            Self::Offset { found, offset } => write!(
                f,
                "`{offset}` in `{found}` is not an offset from UTC; use `Z` or hours and minutes \
                 as in `+01:00`, or leave it out for local time"
            ),
            Self::OutOfRange { found } => {
                write!(f, "`{found}` is out of range; moments lie between 1970 and {LAST_YEAR}")
            }
        }
    }
}

impl std::error::Error for InstantError {}
