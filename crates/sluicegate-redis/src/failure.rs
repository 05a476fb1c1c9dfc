//! Why the server gave no answer, and what that means for what was asked.

use std::fmt;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::address::Address;
use crate::counts::{Counter, Counters};

/// Why the server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    pub(crate) why: String,
    /// Where to ask instead, if somebody else is to be asked.
    pub(crate) instead: Option<Address>,
}

/// What a failure is, which is what is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// No answer in time. What was asked may have been done.
    Timeout,
    /// The connection is gone, or was never there. What was asked may have been done.
    Connection,
    /// The store had been given up before; nothing was sent.
    Down,
    /// The server answers others, and this was sent and not answered in time. It may have been done.
    Late,
    /// Too many are waiting, and this had no turn in time; nothing was sent.
    Overload,
    /// LOADING: it reads its data. Nothing was done.
    Loading,
    /// BUSY: it runs somebody's endless script. Nothing was done.
    Busy,
    /// OOM: no memory for another counter.
    OutOfMemory,
    /// READONLY: a replica, or a primary that lacks replicas. Nothing was done.
    ReadOnly,
    /// NOAUTH, WRONGPASS, NOPERM: only a person can help.
    Refused,
    /// NOSCRIPT: it has to be told the script. Nothing was done.
    NoScript,
    /// MOVED: the slot belongs to another server. Nothing was done.
    Moved,
    /// ASK: the slot is on its way to another server, which has this key. Nothing was done.
    Asked,
    /// TRYAGAIN: the slot is on its way, and its keys are here and there. Nothing was done.
    TryAgain,
    /// CLUSTERDOWN: nobody serves the slot. Nothing was done.
    ClusterDown,
    /// It was done, and no replica has said in time that it has it too.
    Unconfirmed,
    /// A reply that belongs to another call, or that cannot be read.
    Strange,
    /// Anything else.
    Other,
}

impl Class {
    /// Whether the store is to be given up until it is well again: asking on would only make
    /// everybody wait.
    pub(crate) const fn gives_up(self) -> bool {
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
            | Self::Asked
            | Self::TryAgain
            | Self::ClusterDown
            | Self::Unconfirmed
            | Self::Other => false,
        }
    }

    /// Whether the server may have done what it was asked, for all that is known here.
    pub(crate) const fn leaves_in_doubt(self) -> bool {
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
            | Self::Asked
            | Self::TryAgain
            | Self::ClusterDown => false,
        }
    }

    /// Whether the server may have counted what was asked, which will be known when it answers again.
    pub(crate) const fn is_doubtful(self) -> bool {
        matches!(self, Self::Timeout | Self::Late | Self::Unconfirmed)
    }

    /// Whether the server answers all the same, so that nothing else reports the failure.
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

    /// Whether a cluster says with it that a slot is served otherwise than was thought.
    pub(crate) const fn is_about_slots(self) -> bool {
        matches!(self, Self::Moved | Self::Asked | Self::TryAgain | Self::ClusterDown)
    }

    /// Whether the connection is of no use any more, even if the server is.
    pub(crate) const fn hangs_up(self) -> bool {
        matches!(self, Self::Connection | Self::ReadOnly | Self::Strange | Self::Refused)
    }

    pub(crate) fn counter(self, counters: &Counters) -> Option<&Counter> {
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
            Self::Moved | Self::Asked => &counters.redirects,
            Self::TryAgain | Self::ClusterDown => &counters.slot_failures,
            Self::Unconfirmed => &counters.unconfirmed,
            Self::Strange => &counters.strange_replies,
            Self::Other => &counters.other_failures,
            // Counted when it was given up.
            Self::Down => return None,
        })
    }
}

impl Failure {
    pub(crate) fn new(class: Class, why: impl Into<String>) -> Self {
        Self { class, why: why.into(), instead: None }
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        let class = match error.kind() {
            ErrorKind::Server(ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown) => {
                Class::Loading
            }
            ErrorKind::Server(ServerErrorKind::NoScript) => Class::NoScript,
            ErrorKind::Server(ServerErrorKind::Moved) => Class::Moved,
            ErrorKind::Server(ServerErrorKind::Ask) => Class::Asked,
            ErrorKind::Server(ServerErrorKind::TryAgain) => Class::TryAgain,
            ErrorKind::Server(ServerErrorKind::ClusterDown) => Class::ClusterDown,
            ErrorKind::Server(ServerErrorKind::ReadOnly) => Class::ReadOnly,
            ErrorKind::Server(ServerErrorKind::NoPerm) | ErrorKind::AuthenticationFailed => {
                Class::Refused
            }
            _ => match error.code() {
                Some("BUSY") => Class::Busy,
                Some("OOM") => Class::OutOfMemory,
                Some("NOAUTH" | "WRONGPASS" | "NOPERM") => Class::Refused,
                Some("READONLY" | "NOREPLICAS") => Class::ReadOnly,
                Some("LOADING" | "MASTERDOWN") => Class::Loading,
                Some("NOSCRIPT") => Class::NoScript,
                // What a script may not do is no NOPERM, but an error of that script.
                _ if error.detail().is_some_and(is_refused_in_script) => Class::Refused,
                _ if error.detail().is_some_and(is_down_in_script) => Class::ClusterDown,
                _ if error.is_timeout() => Class::Timeout,
                _ if error.is_io_error() || error.is_connection_dropped() => Class::Connection,
                _ if error.is_unrecoverable_error() => Class::Connection,
                _ => Class::Other,
            },
        };
        let why = match class {
            Class::Connection if error.is_connection_refusal() => "connection refused".to_owned(),
            Class::Connection if error.is_connection_dropped() => {
                "the connection was closed".to_owned()
            }
            _ => error.to_string(),
        };
        let instead = error.redirect_node().and_then(|(told, _)| Address::read(told, None));
        Self { class, why, instead }
    }
}

/// Whether this is what a server says when a script does what its user may not.
fn is_refused_in_script(detail: &str) -> bool {
    detail.contains("executing the script can't") || detail.contains("ACL failure in script")
}

/// Whether this is what a server of a cluster that is down says to the first thing that a script writes.
fn is_down_in_script(detail: &str) -> bool {
    detail.contains("while the cluster is down")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What servers say, word for word, also from within a script.
    #[test]
    fn what_a_server_says_is_what_is_done_about_it() {
        let said = [
            ("READONLY You can't write against a read only replica.", Class::ReadOnly),
            ("READONLY Can not run script with write flag on readonly replica.", Class::ReadOnly),
            ("NOREPLICAS Not enough good replicas to write.", Class::ReadOnly),
            (
                "NOREPLICAS Not enough good replicas to write. script: f_1, on @user_script:33.",
                Class::ReadOnly,
            ),
            ("LOADING Redis is loading the dataset in memory", Class::Loading),
            (
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
                Class::Loading,
            ),
            ("BUSY Redis is busy running a script.", Class::Busy),
            ("OOM command not allowed when used memory > 'maxmemory'.", Class::OutOfMemory),
            (
                "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'",
                Class::OutOfMemory,
            ),
            ("NOAUTH Authentication required.", Class::Refused),
            ("WRONGPASS invalid username-password pair or user is disabled.", Class::Refused),
            (
                "NOPERM User sluicegate has no permissions to run the 'evalsha' command",
                Class::Refused,
            ),
            ("NOSCRIPT No matching script. Please use EVAL.", Class::NoScript),
            ("MOVED 3999 127.0.0.1:6381", Class::Moved),
            ("ASK 3999 127.0.0.1:6381", Class::Asked),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Class::TryAgain),
            ("CLUSTERDOWN The cluster is down", Class::ClusterDown),
            (
                "ERR Script attempted to execute a write command while the cluster is down and readonly script: f_1",
                Class::ClusterDown,
            ),
            ("ERR something nobody has thought of", Class::Other),
        ];
        for (text, class) in said {
            let reply = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
            let error = reply.extract_error().unwrap_err();
            assert_eq!(Failure::from(error).class, class, "{text}");
        }
    }
}
