//! Why bytes are no state.

use core::fmt;

/// Bytes that are no state, or none that any limit could have left behind.
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
    /// A number that this part of a state never is.
    OutOfRange {
        /// Which part.
        part: &'static str,
        /// The number.
        found: u64,
        /// The least it can be …
        least: u64,
        /// … and the most, given the rest of the state.
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
