//! What becomes of the store, and how it is doing.

use std::fmt;
use std::time::Duration;

/// What has become of the store; told once for each change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A server answers: decisions are shared.
    Reached {
        /// Where it is.
        address: String,
        /// What it is.
        server: ServerInfo,
    },
    /// It does not: checks go by what they say of an outage.
    Degraded {
        /// Where it was looked for, or what it is called.
        address: String,
        /// What was found.
        why: String,
    },
    /// Another server has become the primary: what the old one had not passed on yet is forgotten.
    FailedOver {
        /// Where the old one was.
        from: String,
        /// Where the new one is.
        to: String,
    },
    /// So many slots of a cluster are served by nobody; 0 when all are again.
    SlotsUnserved {
        /// How many.
        slots: usize,
    },
    /// The store answers, and some decisions were made without it. Sent at most every ten seconds.
    PassedOver {
        /// The number of decisions since the event before.
        decisions: u64,
        /// The last cause.
        why: String,
    },
    /// The server has forgotten what it knew: every caller may have a second burst.
    StateLost,
    /// The server answers and does not let us in, or not do what we need: only a person can help.
    Refused {
        /// What was found.
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
                "the store at {address} does not answer: {why}; rules go by their on_store_error \
                 until it does"
            ),
            Self::FailedOver { from, to } => write!(
                f,
                "the store's primary is {to} now, no longer {from}: what had not been replicated \
                 is forgotten"
            ),
            Self::SlotsUnserved { slots: 0 } => f.write_str("all slots of the store are served"),
            Self::SlotsUnserved { slots } => write!(
                f,
                "{slots} slots of the store are served by nobody; callers in them go by the rules' \
                 on_store_error; look at CLUSTER INFO"
            ),
            Self::PassedOver { decisions, why } => write!(
                f,
                "the store answers, yet the rules' on_store_error decided in its place, decisions: \
                 {decisions}; last cause: {why}; see store_failures_total in /metrics for the causes, \
                 give the store more capacity, or raise `deadline` under `store`"
            ),
            Self::StateLost => f.write_str(
                "the store has lost its counters: every caller may have one burst more; look for \
                 FLUSHALL, a restart without persistence, or an eviction policy that takes any key",
            ),
            Self::Refused { why } => write!(
                f,
                "the store does not let us do what we need: {why}; check user, password and ACL; \
                 rules go by their on_store_error until then"
            ),
        }
    }
}

/// Which server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// `Redis` or `Valkey`.
    pub kind: &'static str,
    /// Its version; empty where we may not ask.
    pub version: String,
    /// Names this run of the server; another one may have forgotten everything.
    pub(crate) run: String,
}

impl ServerInfo {
    /// Reads what `INFO server` says.
    pub(crate) fn read(info: &str) -> Self {
        let find = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(field, _)| *field == name).map(|(_, value)| value.trim().to_owned())
        };
        let run = find("run_id").unwrap_or_default();
        // Valkey goes on telling the version of Redis that it is compatible with.
        match find("valkey_version") {
            Some(version) => Self { kind: "Valkey", version, run },
            None => Self { kind: "Redis", version: find("redis_version").unwrap_or_default(), run },
        }
    }
}

impl ServerInfo {
    /// Whether it can be trusted with scripts that write in several slots of a cluster, which docs/decisions/0016
    /// is about. Redis 7.4 and 8.0 may look for a key in the slot of the one before while slots are
    /// moved, and Valkey 9.0 when it reads its append-only file. Of what came later nobody knows yet.
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

/// How the store is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether decisions are shared.
    pub up: bool,
    /// For how long that has been so.
    pub since: Duration,
    /// If not, what was found.
    pub why: Option<String>,
    /// The server that was reached last.
    pub server: Option<ServerInfo>,
    /// How far its clock is ahead of this machine's, in microseconds.
    pub clock_offset_micros: Option<i64>,
    /// How many nodes share the limits, as far as is known.
    pub nodes: u32,
    /// The servers one by one: the primaries of a cluster, or the only one there is.
    pub parts: Vec<Part>,
}

/// How one server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it is.
    pub address: String,
    /// Whether it answers.
    pub up: bool,
    /// For how long that has been so.
    pub since: Duration,
    /// If it does not, what was found.
    pub why: Option<String>,
    /// What it is, if it ever answered.
    pub server: Option<ServerInfo>,
    /// How many slots of a cluster it serves.
    pub slots: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_apart() {
        let redis = ServerInfo::read("# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n");
        assert_eq!((redis.kind, &*redis.version, &*redis.run), ("Redis", "7.0.15", "abc"));
        let valkey = ServerInfo::read("redis_version:7.2.4\r\nvalkey_version:9.1.2\r\n");
        assert_eq!(valkey.to_string(), "Valkey 9.1.2");
        assert_eq!(ServerInfo::read("").to_string(), "Redis of unknown version");
    }

    #[test]
    fn only_versions_that_are_known_to_be_right_write_across_slots() {
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
