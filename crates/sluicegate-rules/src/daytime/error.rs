//! What can be wrong with a time of day, and what would be right.

use std::fmt;

use super::minute::Minute;

/// A day of the week or a time of day that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DaytimeError {
    /// Not a day of the week.
    Day {
        /// What is written.
        found: String,
        /// The day that was probably meant.
        meant: Option<&'static str>,
    },
    /// Not a time of day.
    Time {
        /// What is written.
        found: String,
        /// The time that was probably meant.
        meant: Option<Minute>,
    },
    /// A time that no day has.
    TooLate {
        /// What is written.
        found: String,
    },
    /// `24:00` where a stretch begins.
    BeginsAtTheEnd,
}

impl fmt::Display for DaytimeError {
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
                "no day has a `{found}`; times run from 00:00 to 23:59, and 24:00 ends a day"
            ),
            Self::BeginsAtTheEnd => {
                f.write_str("nothing begins at `24:00`; use `00:00` of the next day")
            }
        }
    }
}

impl std::error::Error for DaytimeError {}
