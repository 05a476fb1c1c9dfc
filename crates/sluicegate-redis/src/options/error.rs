//! Why a server cannot be used as it was described.

use std::fmt;
use std::time::Duration;

use super::Options;

/// Why a server cannot be used as it was described.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionsError {
    /// A URL of a kind that is not known.
    Scheme {
        /// What it begins with.
        found: String,
    },
    /// A URL that cannot be read.
    Url {
        /// What is wrong with it.
        why: String,
    },
    /// A prefix that keys cannot begin with.
    Prefix,
    /// Not a power of two, or too many.
    Pages {
        /// How many.
        found: u32,
    },
    /// A deadline that cannot be kept, or that is none.
    Deadline {
        /// How long.
        found: Duration,
    },
    /// Certificates that cannot be read.
    Certificates {
        /// What is wrong with them.
        why: String,
    },
    /// The memory for this node alone cannot be had.
    Memory {
        /// What is wrong with its settings.
        why: String,
    },
    /// Not called from within a tokio runtime, which the connection lives in.
    NoRuntime,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme { found } => write!(
                f,
                "cannot use `{}` as a store; use redis://host:6379, redis+sentinel://host,host,host/name \
                 or redis+cluster://host,host,host, or rediss instead of redis for TLS",
                found.escape_debug()
            ),
            Self::Url { why } => write!(
                f,
                "cannot read the store's URL: {why}; write redis://[user[:password]@]host[:port][/database]"
            ),
            Self::Prefix => write!(
                f,
                "cannot begin keys with this prefix; use at most {} bytes without braces, spaces \
                 and control characters",
                Options::MAX_PREFIX
            ),
            Self::Pages { found } => write!(
                f,
                "cannot spread callers over {found} pages; use a power of two from 1 to 1048576"
            ),
            Self::Deadline { found } => {
                write!(f, "cannot wait {} ms for the store; use 1 to 1000 ms", found.as_millis())
            }
            Self::Certificates { why } => {
                write!(f, "cannot read the certificates to trust: {why}; give them as PEM")
            }
            Self::Memory { why } => write!(f, "cannot set up the memory of this node: {why}"),
            Self::NoRuntime => f.write_str(
                "cannot start the store outside of a tokio runtime, which its connection lives in; \
                 call it from one",
            ),
        }
    }
}

impl std::error::Error for OptionsError {}
