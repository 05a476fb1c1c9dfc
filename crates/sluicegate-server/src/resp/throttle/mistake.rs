//! What is wrong with a `CL.THROTTLE`, in the words of redis-cell where it has any.

use std::fmt;

use sluicegate::CheckError;

use crate::resp::replies::Shown;

/// What is wrong with a command.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::resp) enum Mistake {
    /// It has too few arguments, or too many.
    Usage,
    /// This is no whole number.
    NotAnInteger(Vec<u8>),
    ZeroRate,
    NegativeRate(i64),
    NegativeBurst(i64),
    /// The quota cannot be counted exactly.
    Quota(String),
    LongKey {
        bytes: usize,
    },
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cell error: ")?;
        match self {
            Self::Usage => f.write_str(
                "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]",
            ),
            Self::NotAnInteger(text) => write!(f, "Couldn't parse as integer: {}", Shown(text)),
            Self::ZeroRate => f.write_str("Zero rates are not supported"),
            Self::NegativeRate(found) => {
                write!(f, "a rate cannot be made of {found}; use whole numbers from 1 on")
            }
            Self::NegativeBurst(found) => {
                write!(f, "max_burst is {found}; use 0 for one at a time, or more")
            }
            Self::Quota(why) => f.write_str(why),
            Self::LongKey { bytes } => CheckError::KeyTooLong { bytes: *bytes }.fmt(f),
        }
    }
}
