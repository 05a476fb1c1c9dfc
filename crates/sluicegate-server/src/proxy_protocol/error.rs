//! Errors of PROXY headers.

use std::fmt;

/// The first bytes of a connection are not a valid PROXY header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyError {
    reason: HeaderFault,
}

impl From<HeaderFault> for ProxyError {
    fn from(reason: HeaderFault) -> Self {
        Self { reason }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderFault {
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

impl HeaderFault {
    /// Escapes bytes of a header, so that an error can contain them.
    pub(super) fn escape(bytes: &[u8]) -> Box<str> {
        bytes.escape_ascii().to_string().into()
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            HeaderFault::Signature { at, found } => {
                let (position, found) = (at + 1, found.escape_ascii());
                write!(f, "no PROXY header: byte {position} of the connection is `{found}`")
            }
            HeaderFault::Protocol(found) => write!(
                f,
                "the protocol of the PROXY line is `{found}`; it must be TCP4, TCP6 or UNKNOWN"
            ),
            HeaderFault::Address { field, version, found } => {
                write!(f, "the {field} of the PROXY line is `{found}`, not an IPv{version} address")
            }
            HeaderFault::Port { field, found } => write!(
                f,
                "the {field} of the PROXY line is `{found}`; it must be a number from 0 to \
                 65535 without leading zeros"
            ),
            HeaderFault::Missing { field } => write!(f, "the PROXY line ends before its {field}"),
            HeaderFault::Leftover(found) => {
                write!(f, "the PROXY line continues with `{found}` after its destination port")
            }
            HeaderFault::Unprintable(found) => {
                write!(f, "the PROXY line contains the byte `{}`", found.escape_ascii())
            }
            HeaderFault::BareReturn(found) => write!(
                f,
                "the PROXY line has `{}` after its carriage return; it must be a line feed",
                found.escape_ascii()
            ),
            HeaderFault::LineTooLong => {
                write!(f, "the PROXY line does not end within {} bytes", super::v1::MAX_LINE)
            }
            HeaderFault::Version(found) => {
                write!(f, "the PROXY header has version {found}; it must be 1 or 2")
            }
            HeaderFault::Command(found) => {
                write!(f, "the PROXY header has command {found}; it must be 0 (LOCAL) or 1 (PROXY)")
            }
            HeaderFault::Family(found) => {
                write!(f, "the PROXY header has address family {found}; it must be 0 to 3")
            }
            HeaderFault::Transport(found) => {
                write!(f, "the PROXY header has transport {found}; it must be 0 to 2")
            }
            HeaderFault::TooShort { found, least } => write!(
                f,
                "the PROXY header has {found} bytes for addresses that take at least {least}"
            ),
            HeaderFault::TooLong { found } => {
                write!(
                    f,
                    "the PROXY header has at least {found} bytes; {} are allowed",
                    super::MAX_LENGTH
                )
            }
        }
    }
}

impl std::error::Error for ProxyError {}
