//! Protocol errors, with the messages of Redis.

use std::fmt;

use super::MAX_COMMAND;

/// Bytes that are not a command; the bytes after them cannot be parsed either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::resp) enum ProtocolError {
    /// The number of arguments is invalid or too large.
    Count,
    /// The length of an argument is invalid or too large.
    Length,
    /// An argument does not begin with `$`.
    NotBulk { found: u8 },
    /// An argument does not end after its length.
    NoLineEnd { length: usize },
    /// A line without an end.
    LongLine,
    /// A line with unbalanced quotes.
    Quotes,
    /// A command with too many bytes.
    TooLong,
    /// An HTTP request.
    Http,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ERR Protocol error: ")?;
        match self {
            Self::Count => f.write_str("invalid multibulk length"),
            Self::Length => f.write_str("invalid bulk length"),
            Self::NotBulk { found } => {
                write!(f, "expected '$', got '{}'", found.escape_ascii())
            }
            Self::NoLineEnd { length } => {
                write!(f, "expected a line end after the bulk of {length} bytes")
            }
            Self::LongLine => f.write_str("too big inline request"),
            Self::Quotes => f.write_str("unbalanced quotes in request"),
            Self::TooLong => {
                write!(f, "too big command; send at most {MAX_COMMAND} bytes")
            }
            Self::Http => f.write_str(
                "this port speaks RESP, and the request is HTTP; send it to the port for HTTP",
            ),
        }
    }
}
