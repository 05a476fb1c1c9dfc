//! What cannot be read as a command, in the words of Redis.

use std::fmt;

use super::LONGEST_COMMAND;

/// What cannot be read as a command. Nothing behind it can be, either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::resp) enum Violation {
    /// How many arguments there are is no number, or too large.
    Count,
    /// How long an argument is is no number, or too large.
    Length,
    /// Something else stands where an argument has to begin.
    NotBulk { found: u8 },
    /// An argument does not end where it said it would.
    NoLineEnd { length: usize },
    /// A line without an end.
    LongLine,
    /// A line with a quote too many.
    Quotes,
    /// More bytes than a command may have.
    TooLong,
    /// Another protocol.
    Http,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ERR Protocol error: ")?;
        match self {
            Self::Count => f.write_str("invalid multibulk length"),
            Self::Length => f.write_str("invalid bulk length"),
            Self::NotBulk { found } => {
                write!(f, "expected '$', got '{}'", found.escape_ascii())
            }
            Self::NoLineEnd { length } => {
                write!(f, "expected a line end behind the bulk of {length} bytes")
            }
            Self::LongLine => f.write_str("too big inline request"),
            Self::Quotes => f.write_str("unbalanced quotes in request"),
            Self::TooLong => {
                write!(f, "too big command; send at most {LONGEST_COMMAND} bytes")
            }
            Self::Http => f.write_str(
                "this port speaks the protocol of Redis, and found HTTP; \
                 send that to the address that listens for HTTP",
            ),
        }
    }
}
