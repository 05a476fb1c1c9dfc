//! Events and health of the store.

use std::fmt;
use std::time::Duration;

/// A change of the store's state; emitted once per change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A server is available: decisions are shared.
    Reached {
        /// The address of the server.
        address: String,
        /// Kind and version of the server.
        server: ServerInfo,
    },
    /// A server is unavailable: checks follow their `on_store_error` policy.
    Degraded {
        /// The address that was tried, or the name of the primary.
        address: String,
        /// The cause.
        why: String,
    },
    /// A replica has become the primary: charges that were not replicated are lost.
    FailedOver {
        /// The address of the old primary.
        from: String,
        /// The address of the new primary.
        to: String,
    },
    /// Slots of a cluster have no server; 0 once all are served again.
    SlotsUnserved {
        /// The number of slots.
        slots: usize,
    },
    /// The store answers, and some decisions were made without it. Sent at most every ten seconds.
    PassedOver {
        /// The number of decisions since the event before.
        decisions: u64,
        /// The last cause.
        why: String,
    },
    /// The server has lost its data: every caller may have a second burst.
    StateLost,
    /// The server refuses authentication or a command that is needed; needs manual action.
    Refused {
        /// The cause.
        why: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reached { address, server } => {
                write!(f, "the store answers: {server} at {address}")
            }
            Self::Degraded { address, why } => write!(
                f,
                "the store at {address} does not answer: {why}; rules follow their on_store_error \
                 until it does; check that the server runs and is reachable"
            ),
            Self::FailedOver { from, to } => write!(
                f,
                "the store's primary is {to} now, no longer {from}: charges that were not \
                 replicated are lost"
            ),
            Self::SlotsUnserved { slots: 0 } => {
                f.write_str("all slots of the store are served again")
            }
            Self::SlotsUnserved { slots } => write!(
                f,
                "no server of the cluster serves {slots} slots; rules follow their on_store_error \
                 for callers in those slots; run CLUSTER NODES to find the failed primaries"
            ),
            Self::PassedOver { decisions, why } => write!(
                f,
                "the store answers, yet the rules' on_store_error decided in its place, decisions: \
                 {decisions}; last cause: {why}; see store_failures_total in /metrics for the \
                 causes, give the store more capacity, or raise `deadline` under `store`"
            ),
            Self::StateLost => f.write_str(
                "the store has lost its counters: every caller may get one extra burst; look for \
                 FLUSHALL, a restart without persistence, or an eviction policy that evicts \
                 any key",
            ),
            Self::Refused { why } => write!(
                f,
                "the store refuses this node: {why}; check user, password and ACL; rules follow \
                 their on_store_error until it is accepted"
            ),
        }
    }
}

/// Kind and version of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// `Redis` or `Valkey`.
    pub kind: &'static str,
    /// Its version; empty without the permission to query it.
    pub version: String,
    /// Identifies this run of the server; after a restart the data may be lost.
    pub(crate) run: String,
}

impl ServerInfo {
    /// Parses the reply to `INFO server`.
    pub(crate) fn read(info: &str) -> Self {
        let find = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(field, _)| *field == name).map(|(_, value)| value.trim().to_owned())
        };
        let run = find("run_id").unwrap_or_default();
        // Valkey also reports the version of Redis that it is compatible with.
        match find("valkey_version") {
            Some(version) => Self { kind: "Valkey", version, run },
            None => Self { kind: "Redis", version: find("redis_version").unwrap_or_default(), run },
        }
    }
}

impl ServerInfo {
    /// Whether scripts may write in several slots of a cluster, as decision 0016 explains. Redis
    /// 7.4 and 8.0 may look for a key in the slot of the previous one while slots are moved, and
    /// Valkey 9.0 when it reads its append-only file. Later versions have not been checked.
    pub(crate) fn writes_across_slots(&self) -> bool {
        let mut numbers = self.version.split('.').map_while(|number| number.parse::<u32>().ok());
        match (self.kind, numbers.next(), numbers.next()) {
            ("Redis", Some(7), Some(minor)) => minor <= 2,
            ("Redis", Some(8), Some(minor)) => minor == 2,
            ("Valkey", Some(7 | 8), Some(_)) => true,
            ("Valkey", Some(9), Some(minor)) => minor >= 1,
            _ => false,
        }
    }
}

impl fmt::Display for ServerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.kind,
            if self.version.is_empty() { "of unknown version" } else { &self.version }
        )
    }
}

/// The health of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether decisions are shared.
    pub up: bool,
    /// How long the current state has lasted.
    pub since: Duration,
    /// The cause, if the store is not up.
    pub why: Option<String>,
    /// The server that was last reached.
    pub server: Option<ServerInfo>,
    /// How far its clock is ahead of this machine's, in microseconds.
    pub clock_offset_micros: Option<i64>,
    /// The number of nodes that share the limits, as far as it is known.
    pub nodes: u32,
    /// The servers: the primaries of a cluster, or the only one.
    pub parts: Vec<ServerHealth>,
}

/// The health of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHealth {
    /// The address of the server.
    pub address: String,
    /// Whether the server answers.
    pub up: bool,
    /// How long the current state has lasted.
    pub since: Duration,
    /// The cause, if it does not answer.
    pub why: Option<String>,
    /// Kind and version, if it ever answered.
    pub server: Option<ServerInfo>,
    /// How many slots of a cluster it serves.
    pub slots: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_version_and_run_are_parsed() {
        let redis = ServerInfo::read("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n");
        assert_eq!((redis.kind, &*redis.version, &*redis.run), ("Redis", "7.0.15", "abc"));
        let valkey = ServerInfo::read("redis_version:7.2.4\r\nvalkey_version:9.1.2\r\n");
        assert_eq!(valkey.to_string(), "Valkey 9.1.2");
        assert_eq!(ServerInfo::read("").to_string(), "Redis of unknown version");
    }

    #[test]
    fn only_verified_versions_write_across_slots() {
        let redis = [
            ("6.2.14", false),
            ("7.0.15", true),
            ("7.2.4", true),
            ("7.4.1", false),
            ("8.0.3", false),
            ("8.2.1", true),
            ("8.4.0", false),
            ("9.0.0", false),
            ("", false),
            ("unstable", false),
            ("7", false),
        ];
        let valkey = [("7.2.8", true), ("8.1.3", true), ("9.0.1", false), ("9.1.0", true)];
        let valkey = valkey.map(|(version, right)| (format!("valkey_version:{version}"), right));
        let all = redis.map(|(version, right)| (format!("redis_version:{version}"), right));
        for (info, right) in all.into_iter().chain(valkey) {
            assert_eq!(ServerInfo::read(&info).writes_across_slots(), right, "{info}");
        }
    }
}
