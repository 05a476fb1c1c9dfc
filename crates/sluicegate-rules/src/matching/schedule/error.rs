//! Errors of schedules, with hints.

use std::fmt;

use super::minute::Minute;

/// A day of the week or a time of day that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScheduleError {
    /// Not a day of the week.
    Day {
        /// The text in the file.
        found: String,
        /// The day that was probably meant.
        meant: Option<&'static str>,
    },
    /// Not a time of day.
    Time {
        /// The text in the file.
        found: String,
        /// The time that was probably meant.
        meant: Option<Minute>,
    },
    /// A time past the end of a day.
    TooLate {
        /// The text in the file.
        found: String,
    },
    /// `24:00` as the start of a range.
    BeginsAtTheEnd,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day { found, meant: Some(meant) } => {
                write!(f, "`{found}` is not a day of the week; did you mean `{meant}`?")
            }
            Self::Day { found, meant: None } => write!(
                f,
                "`{found}` is not a day of the week; use mon, tue, wed, thu, fri, sat or sun, \
                 or a range as in `mon-fri`"
            ),
            Self::Time { found, meant: Some(meant) } => {
                write!(f, "`{found}` is not a time of day; write it as `{meant}`")
            }
            Self::Time { found, meant: None } => write!(
                f,
                "`{found}` is not a time of day; use hours and minutes from 00:00 to 24:00, \
                 as in `09:30`"
            ),
            Self::TooLate { found } => write!(
                f,
                "`{found}` is out of range; times run from 00:00 to 23:59, and 24:00 ends a day"
            ),
            Self::BeginsAtTheEnd => {
                f.write_str("a range cannot begin at `24:00`; use `00:00` of the next day")
            }
        }
    }
}

impl std::error::Error for ScheduleError {}
