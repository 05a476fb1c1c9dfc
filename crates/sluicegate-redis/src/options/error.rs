//! Errors of options.

use std::fmt;
use std::time::Duration;

use sluicegate::StoreUrlError;

use super::Options;

/// Why options cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionsError {
    /// The scheme of the URL is not supported.
    Scheme {
        /// The scheme.
        found: String,
    },
    /// The URL is malformed.
    Url {
        /// The problem.
        why: String,
    },
    /// The prefix is too long or has invalid characters.
    Prefix,
    /// The number of pages is not a power of two, or too large.
    Pages {
        /// The number of pages.
        found: u32,
    },
    /// The deadline is too short or too long.
    Deadline {
        /// The deadline.
        found: Duration,
    },
    /// The certificates cannot be read.
    Certificates {
        /// The problem.
        why: String,
    },
    /// The memory of this node cannot be set up.
    Memory {
        /// The problem with its settings.
        why: String,
    },
    /// Not called from within a tokio runtime, which the connection requires.
    NoRuntime,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme { found } => write!(
                f,
                "cannot use `{}` as a store; use redis://host:6379, \
                 redis+sentinel://host,host,host/name or redis+cluster://host,host,host, \
                 or rediss instead of redis for TLS",
                found.escape_debug()
            ),
            Self::Url { why } => write!(
                f,
                "cannot read the store's URL: {why}; \
                 write redis://[user[:password]@]host[:port][/database]"
            ),
            Self::Prefix => write!(
                f,
                "cannot use this prefix for keys; use at most {} bytes without braces, spaces \
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
            Self::Memory { why } => {
                write!(f, "cannot set up the memory of this node: {why}; correct its settings")
            }
            Self::NoRuntime => f.write_str(
                "cannot start the store outside of a tokio runtime, which its connections require; \
                 call it from within one",
            ),
        }
    }
}

impl std::error::Error for OptionsError {}

impl From<StoreUrlError> for OptionsError {
    fn from(error: StoreUrlError) -> Self {
        let why = match error {
            StoreUrlError::Scheme { found } => return Self::Scheme { found },
            StoreUrlError::Host | StoreUrlError::Port => {
                "one of its hosts is not a valid host or host:port"
            }
            StoreUrlError::SeveralHosts => "it is for one server and names several hosts",
            StoreUrlError::TooManyHosts => "it names more than 64 hosts",
            StoreUrlError::Primary => "it names no primary, as in redis+sentinel://a,b,c/mymaster",
            StoreUrlError::Database => "the database is not a number",
            StoreUrlError::ClusterDatabase => "a cluster has only database 0",
            StoreUrlError::More => "nothing may follow a `?` or a `#`",
            StoreUrlError::Letter => "it contains a space or a control character",
        };
        Self::Url { why: why.to_owned() }
    }
}
