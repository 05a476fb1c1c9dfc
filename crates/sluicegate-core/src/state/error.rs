//! The error of bytes that are not a state.

use core::fmt;

/// The error of bytes that are no state, or one that no limit can have left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateError {
    /// The bytes end before the state does.
    Incomplete,
    /// No kind of state has this tag.
    UnknownTag {
        /// The tag.
        found: u8,
    },
    /// A number takes more bytes than it needs, or more than 64 bits hold.
    Misspelled,
    /// A number outside the range of this part of a state.
    OutOfRange {
        /// The part.
        part: &'static str,
        /// The number.
        found: u64,
        /// The smallest valid number …
        least: u64,
        /// … and the largest, given the rest of the state.
        most: u64,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read a state: ")?;
        match *self {
            Self::Incomplete => f.write_str("the bytes end too soon"),
            Self::UnknownTag { found } => write!(f, "no kind of state has the tag {found}"),
            Self::Misspelled => f.write_str("a number is not written in the one way it can be"),
            Self::OutOfRange { part, found, least, most } => {
                write!(f, "{part}: found {found}, expected {least} to {most}")
            }
        }
    }
}

impl core::error::Error for StateError {}
