//! Why the first bytes of a connection are not a header.

use std::fmt;

/// The first bytes of a connection are not a header of the PROXY protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyError {
    wrong: Wrong,
}

impl From<Wrong> for ProxyError {
    fn from(wrong: Wrong) -> Self {
        Self { wrong }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    Signature { at: usize, found: u8 },
    // Version 1.
    Protocol(Box<str>),
    Address { field: &'static str, version: u8, found: Box<str> },
    Port { field: &'static str, found: Box<str> },
    Missing { field: &'static str },
    Leftover(Box<str>),
    Unprintable(u8),
    BareReturn(u8),
    LineTooLong,
    // Version 2.
    Version(u8),
    Command(u8),
    Family(u8),
    Transport(u8),
    TooShort { found: usize, least: usize },
    TooLong { found: usize },
}

impl Wrong {
    /// Bytes of a header as an error may repeat them: whatever they are, as plain text.
    pub(super) fn shown(bytes: &[u8]) -> Box<str> {
        bytes.escape_ascii().to_string().into()
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wrong {
            Wrong::Signature { at, found } => {
                let (place, found) = (at + 1, found.escape_ascii());
                write!(f, "no PROXY header: byte {place} of the connection is `{found}`")
            }
            Wrong::Protocol(found) => write!(
                f,
                "the protocol of the PROXY line is `{found}`; it has to be TCP4, TCP6 or UNKNOWN"
            ),
            Wrong::Address { field, version, found } => {
                write!(f, "the {field} of the PROXY line is `{found}`, not an IPv{version} address")
            }
            Wrong::Port { field, found } => write!(
                f,
                "the {field} of the PROXY line is `{found}`; it has to be a number from 0 to \
                 65535 without leading zeros"
            ),
            Wrong::Missing { field } => write!(f, "the PROXY line ends before its {field}"),
            Wrong::Leftover(found) => {
                write!(f, "the PROXY line goes on with `{found}` behind its destination port")
            }
            Wrong::Unprintable(found) => {
                write!(f, "the PROXY line has the byte `{}` in it", found.escape_ascii())
            }
            Wrong::BareReturn(found) => write!(
                f,
                "the PROXY line has `{}` behind its carriage return; it has to be a line feed",
                found.escape_ascii()
            ),
            Wrong::LineTooLong => {
                write!(f, "the PROXY line does not end within {} bytes", super::version1::LONGEST)
            }
            Wrong::Version(found) => {
                write!(f, "the PROXY header has version {found}; it has to be 1 or 2")
            }
            Wrong::Command(found) => write!(
                f,
                "the PROXY header has command {found}; it has to be 0 (LOCAL) or 1 (PROXY)"
            ),
            Wrong::Family(found) => {
                write!(f, "the PROXY header has address family {found}; it has to be 0 to 3")
            }
            Wrong::Transport(found) => {
                write!(f, "the PROXY header has transport {found}; it has to be 0 to 2")
            }
            Wrong::TooShort { found, least } => write!(
                f,
                "the PROXY header has {found} bytes for addresses that take at least {least}"
            ),
            Wrong::TooLong { found } => {
                write!(
                    f,
                    "the PROXY header has at least {found} bytes; {} are allowed",
                    super::LONGEST
                )
            }
        }
    }
}

impl std::error::Error for ProxyError {}
