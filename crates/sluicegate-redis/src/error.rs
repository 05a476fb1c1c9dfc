//! Errors of the server, and what they imply for the request.

use std::fmt;

use redis::{ErrorKind as RedisErrorKind, RedisError, ServerErrorKind};

use crate::address::Address;
use crate::stats::{StatCounter, StatCounters};

/// Why the server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerError {
    pub(crate) class: ErrorKind,
    pub(crate) why: String,
    /// Where to send the request instead, if the server redirected it.
    pub(crate) instead: Option<Address>,
}

/// The kind of an error, which determines how it is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// No answer in time. The request may have been executed.
    Timeout,
    /// The connection failed. The request may have been executed.
    Connection,
    /// The server was marked down before; nothing was sent.
    Down,
    /// The server answers others, but not this request in time. It may have been executed.
    Late,
    /// Too many requests are waiting, and this one was not sent in time.
    Overload,
    /// LOADING: the server loads its data. Nothing was executed.
    Loading,
    /// BUSY: the server runs a script that does not end. Nothing was executed.
    Busy,
    /// OOM: no memory for another counter.
    OutOfMemory,
    /// READONLY: a replica, or a primary that lacks replicas. Nothing was executed.
    ReadOnly,
    /// NOAUTH, WRONGPASS, NOPERM: needs manual action.
    Refused,
    /// NOSCRIPT: the script has to be sent. Nothing was executed.
    NoScript,
    /// MOVED: the slot belongs to another server. Nothing was executed.
    Moved,
    /// ASK: the slot is being migrated to another server, which has this key. Nothing was executed.
    Ask,
    /// TRYAGAIN: the slot is being migrated, and its keys are split. Nothing was executed.
    TryAgain,
    /// CLUSTERDOWN: no server serves the slot. Nothing was executed.
    ClusterDown,
    /// It was executed, and no replica confirmed it in time.
    Unconfirmed,
    /// A reply that belongs to another call, or that cannot be parsed.
    Strange,
    /// Any other error.
    Other,
}

impl ErrorKind {
    /// Whether to stop using the server until it recovers, because further requests would only
    /// wait.
    pub(crate) const fn marks_server_down(self) -> bool {
        match self {
            Self::Timeout
            | Self::Connection
            | Self::Loading
            | Self::Busy
            | Self::ReadOnly
            | Self::Refused
            | Self::Strange => true,
            Self::Down
            | Self::Late
            | Self::Overload
            | Self::OutOfMemory
            | Self::NoScript
            | Self::Moved
            | Self::Ask
            | Self::TryAgain
            | Self::ClusterDown
            | Self::Unconfirmed
            | Self::Other => false,
        }
    }

    /// Whether the server may have executed the request.
    pub(crate) const fn may_have_executed(self) -> bool {
        match self {
            Self::Timeout
            | Self::Late
            | Self::Connection
            // A script that runs out of memory has written what came before.
            | Self::OutOfMemory
            | Self::Strange
            | Self::Unconfirmed
            | Self::Other => true,
            Self::Down
            | Self::Overload
            | Self::Loading
            | Self::Busy
            | Self::ReadOnly
            | Self::Refused
            | Self::NoScript
            | Self::Moved
            | Self::Ask
            | Self::TryAgain
            | Self::ClusterDown => false,
        }
    }

    /// Whether the server is still available, so that no other event reports the failure.
    pub(crate) const fn passes_over(self) -> bool {
        matches!(
            self,
            Self::Late
                | Self::Overload
                | Self::OutOfMemory
                | Self::NoScript
                | Self::TryAgain
                | Self::Unconfirmed
                | Self::Other
        )
    }

    /// Whether a cluster reports that a slot is served differently than assumed.
    pub(crate) const fn is_about_slots(self) -> bool {
        matches!(self, Self::Moved | Self::Ask | Self::TryAgain | Self::ClusterDown)
    }

    /// Whether the connection is unusable, even if the server is available.
    pub(crate) const fn closes_connection(self) -> bool {
        matches!(self, Self::Connection | Self::ReadOnly | Self::Strange | Self::Refused)
    }

    pub(crate) fn counter(self, counters: &StatCounters) -> Option<&StatCounter> {
        Some(match self {
            Self::Timeout | Self::Late => &counters.timeouts,
            Self::Connection => &counters.connection_failures,
            Self::Overload => &counters.overloads,
            Self::Loading => &counters.loading,
            Self::Busy => &counters.busy,
            Self::OutOfMemory => &counters.out_of_memory,
            Self::ReadOnly => &counters.read_only,
            Self::Refused => &counters.refused,
            Self::NoScript => &counters.no_script,
            Self::Moved | Self::Ask => &counters.redirects,
            Self::TryAgain | Self::ClusterDown => &counters.slot_failures,
            Self::Unconfirmed => &counters.unconfirmed,
            Self::Strange => &counters.strange_replies,
            Self::Other => &counters.other_failures,
            // Counted when the server was marked down.
            Self::Down => return None,
        })
    }
}

impl ServerError {
    pub(crate) fn new(class: ErrorKind, why: impl Into<String>) -> Self {
        Self { class, why: why.into(), instead: None }
    }
}

impl From<RedisError> for ServerError {
    fn from(error: RedisError) -> Self {
        let class = match error.kind() {
            RedisErrorKind::Server(ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown) => {
                ErrorKind::Loading
            }
            RedisErrorKind::Server(ServerErrorKind::NoScript) => ErrorKind::NoScript,
            RedisErrorKind::Server(ServerErrorKind::Moved) => ErrorKind::Moved,
            RedisErrorKind::Server(ServerErrorKind::Ask) => ErrorKind::Ask,
            RedisErrorKind::Server(ServerErrorKind::TryAgain) => ErrorKind::TryAgain,
            RedisErrorKind::Server(ServerErrorKind::ClusterDown) => ErrorKind::ClusterDown,
            RedisErrorKind::Server(ServerErrorKind::ReadOnly) => ErrorKind::ReadOnly,
            RedisErrorKind::Server(ServerErrorKind::NoPerm)
            | RedisErrorKind::AuthenticationFailed => ErrorKind::Refused,
            _ => match error.code() {
                Some("BUSY") => ErrorKind::Busy,
                Some("OOM") => ErrorKind::OutOfMemory,
                Some("NOAUTH" | "WRONGPASS" | "NOPERM") => ErrorKind::Refused,
                Some("READONLY" | "NOREPLICAS") => ErrorKind::ReadOnly,
                Some("LOADING" | "MASTERDOWN") => ErrorKind::Loading,
                Some("NOSCRIPT") => ErrorKind::NoScript,
                // A command that a script may not run is reported as an error of the script, not as
                // NOPERM.
                _ if error.detail().is_some_and(is_refused_in_script) => ErrorKind::Refused,
                _ if error.detail().is_some_and(is_down_in_script) => ErrorKind::ClusterDown,
                _ if error.is_timeout() => ErrorKind::Timeout,
                _ if error.is_io_error() || error.is_connection_dropped() => ErrorKind::Connection,
                _ if error.is_unrecoverable_error() => ErrorKind::Connection,
                _ => ErrorKind::Other,
            },
        };
        let why = match class {
            ErrorKind::Connection if error.is_connection_refusal() => {
                "connection refused".to_owned()
            }
            ErrorKind::Connection if error.is_connection_dropped() => {
                "the connection was closed".to_owned()
            }
            _ => error.to_string(),
        };
        let instead = error.redirect_node().and_then(|(node, _)| Address::read(node, None));
        Self { class, why, instead }
    }
}

/// Whether a server reports that a script ran a command that its user may not run.
fn is_refused_in_script(detail: &str) -> bool {
    detail.contains("executing the script can't") || detail.contains("ACL failure in script")
}

/// Whether a server reports that a script writes while the cluster is down.
fn is_down_in_script(detail: &str) -> bool {
    detail.contains("while the cluster is down")
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of real servers, also from within a script.
    #[test]
    fn server_errors_are_classified() {
        let texts = [
            ("READONLY You can't write against a read only replica.", ErrorKind::ReadOnly),
            (
                "READONLY Can not run script with write flag on readonly replica.",
                ErrorKind::ReadOnly,
            ),
            ("NOREPLICAS Not enough good replicas to write.", ErrorKind::ReadOnly),
            (
                "NOREPLICAS Not enough good replicas to write. script: f_1, on @user_script:33.",
                ErrorKind::ReadOnly,
            ),
            ("LOADING Redis is loading the dataset in memory", ErrorKind::Loading),
            (
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
                ErrorKind::Loading,
            ),
            ("BUSY Redis is busy running a script.", ErrorKind::Busy),
            ("OOM command not allowed when used memory > 'maxmemory'.", ErrorKind::OutOfMemory),
            (
                "OOM allow-oom flag is not set on the script, can not run it when used memory > \
                 'maxmemory'",
                ErrorKind::OutOfMemory,
            ),
            ("NOAUTH Authentication required.", ErrorKind::Refused),
            ("WRONGPASS invalid username-password pair or user is disabled.", ErrorKind::Refused),
            (
                "NOPERM User sluicegate has no permissions to run the 'evalsha' command",
                ErrorKind::Refused,
            ),
            ("NOSCRIPT No matching script. Please use EVAL.", ErrorKind::NoScript),
            ("MOVED 3999 127.0.0.1:6381", ErrorKind::Moved),
            ("ASK 3999 127.0.0.1:6381", ErrorKind::Ask),
            ("TRYAGAIN Multiple keys request during rehashing of slot", ErrorKind::TryAgain),
            ("CLUSTERDOWN The cluster is down", ErrorKind::ClusterDown),
            (
                "ERR Script attempted to execute a write command while the cluster is down and \
                 readonly script: f_1",
                ErrorKind::ClusterDown,
            ),
            ("ERR an unexpected error", ErrorKind::Other),
        ];
        for (text, class) in texts {
            let reply = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
            let error = reply.extract_error().unwrap_err();
            assert_eq!(ServerError::from(error).class, class, "{text}");
        }
    }
}
