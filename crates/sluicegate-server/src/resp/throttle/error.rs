//! Argument errors of `CL.THROTTLE`, with the messages of redis-cell where it has them.

use std::fmt;

use sluicegate::CheckError;

use crate::resp::reply_writer::Excerpt;

/// An error in the arguments of a `CL.THROTTLE`.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::resp) enum ThrottleArgumentError {
    /// The number of arguments is wrong.
    Usage,
    /// An argument is not a whole number.
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

impl fmt::Display for ThrottleArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cell error: ")?;
        match self {
            Self::Usage => f.write_str(
                "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]",
            ),
            Self::NotAnInteger(text) => write!(f, "Couldn't parse as integer: {}", Excerpt(text)),
            Self::ZeroRate => f.write_str("Zero rates are not supported"),
            Self::NegativeRate(found) => {
                write!(f, "found {found} as the count or period; use a whole number of at least 1")
            }
            Self::NegativeBurst(found) => {
                write!(f, "max_burst is {found}; use 0 (one at a time) or more")
            }
            Self::Quota(reason) => f.write_str(reason),
            Self::LongKey { bytes } => CheckError::KeyTooLong { bytes: *bytes }.fmt(f),
        }
    }
}
