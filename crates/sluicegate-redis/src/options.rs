//! Options: the server's address, and how to use it.

mod deployment;
mod error;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, RedisConnectionInfo};
use sluicegate::{ManualClock, MemoryOptions};

pub(crate) use self::deployment::Deployment;
pub use self::error::OptionsError;
use crate::address::Address;
use crate::event::Event;

/// Receives the events of the store.
pub(crate) type OnEvent = Arc<dyn Fn(&Event) + Send + Sync>;

/// The server's address, and how to use it.
///
/// ```
/// use std::time::Duration;
/// use sluicegate_redis::Options;
///
/// let options = Options::new("rediss://limits.example.com:6380/0")?
///     .username("sluicegate")
///     .password(String::from("from the environment"))
///     .prefix("shop:")?
///     .deadline(Duration::from_millis(5))?;
/// assert_eq!(options.address(), "limits.example.com:6380");
/// # Ok::<(), sluicegate_redis::OptionsError>(())
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) deployment: Deployment,
    /// Settings for connections to any server.
    pub(crate) connection: ConnectionInfo,
    /// Credentials for the sentinels, which have users of their own.
    pub(crate) sentinel: RedisConnectionInfo,
    pub(crate) ca_pem: Option<Vec<u8>>,
    pub(crate) prefix: String,
    pub(crate) page_bits: u32,
    pub(crate) secret: [u8; 32],
    pub(crate) deadline: Duration,
    pub(crate) nodes: u32,
    pub(crate) deny_cache: bool,
    pub(crate) memory: MemoryOptions,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) driven: Option<ManualClock>,
}

impl Options {
    /// The default prefix of keys.
    pub const PREFIX: &'static str = "sluicegate:";
    /// The longest prefix, in bytes.
    pub const MAX_PREFIX: usize = 64;
    /// The default deadline of a decision.
    pub const DEADLINE: Duration = Duration::from_millis(10);
    /// The default number of pages that the callers of a limit are spread over.
    pub const PAGES: u32 = 1 << 16;

    /// The server or servers of a URL.
    ///
    /// | | |
    /// |---|---|
    /// | one server | `redis://[user[:password]@]host[:port][/database]` |
    /// | the primary that sentinels name | `redis+sentinel://[user[:password]@]host[:port],…/name[/database]` |
    /// | a cluster, by some of its servers | `redis+cluster://[user[:password]@]host[:port],…` |
    ///
    /// With `rediss` instead of `redis` all connections are encrypted, also those to sentinels.
    pub fn new(url: &str) -> Result<Self, OptionsError> {
        let (deployment, connection) = deployment::read(url)?;
        Ok(Self {
            deployment,
            connection,
            sentinel: RedisConnectionInfo::default(),
            ca_pem: None,
            prefix: Self::PREFIX.to_owned(),
            page_bits: Self::PAGES.ilog2(),
            secret: *blake3::hash(b"sluicegate").as_bytes(),
            deadline: Self::DEADLINE,
            nodes: 1,
            deny_cache: true,
            memory: MemoryOptions::default(),
            on_event: None,
            driven: None,
        })
    }

    /// The user name for the server.
    #[must_use]
    pub fn username(mut self, name: &str) -> Self {
        let settings = self.connection.redis_settings().clone().set_username(name);
        self.connection = self.connection.set_redis_settings(settings);
        self
    }

    /// The password for the server.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "a secret is handed over, not lent")]
    pub fn password(mut self, password: String) -> Self {
        let settings = self.connection.redis_settings().clone().set_password(password);
        self.connection = self.connection.set_redis_settings(settings);
        self
    }

    /// User name and password for the sentinels, which have users of their own, or none.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "a secret is handed over, not lent")]
    pub fn sentinel_access(mut self, name: Option<&str>, password: String) -> Self {
        self.sentinel = self.sentinel.set_password(password);
        if let Some(name) = name {
            self.sentinel = self.sentinel.set_username(name);
        }
        self
    }

    /// The CA certificates (PEM) to trust, instead of those of this machine.
    #[must_use]
    pub fn ca_pem(self, pem: Vec<u8>) -> Self {
        Self { ca_pem: Some(pem), ..self }
    }

    /// The prefix of all keys: different prefixes have different counters.
    pub fn prefix(self, prefix: &str) -> Result<Self, OptionsError> {
        let wrong = |c: char| matches!(c, '{' | '}') || c.is_control() || c.is_whitespace();
        if prefix.len() > Self::MAX_PREFIX || prefix.contains(wrong) {
            return Err(OptionsError::Prefix);
        }
        Ok(Self { prefix: prefix.to_owned(), ..self })
    }

    /// The number of pages that the callers of one limit are spread over: a power of two up to
    /// 2^20.
    ///
    /// A page with sixteen callers or more costs the server under 30 bytes for each, and one with
    /// hundreds costs time. All nodes need the same number; with another one they use other
    /// counters.
    pub fn pages(self, pages: u32) -> Result<Self, OptionsError> {
        if !pages.is_power_of_two() || pages > 1 << 20 {
            return Err(OptionsError::Pages { found: pages });
        }
        Ok(Self { page_bits: pages.ilog2(), ..self })
    }

    /// The key of the digests that stand for callers on the server.
    ///
    /// All nodes need the same secret.
    #[must_use]
    pub fn secret(self, secret: [u8; 32]) -> Self {
        Self { secret, ..self }
    }

    /// The longest that a decision waits for the server.
    pub fn deadline(self, deadline: Duration) -> Result<Self, OptionsError> {
        if deadline < Duration::from_millis(1) || deadline > Duration::from_secs(1) {
            return Err(OptionsError::Deadline { found: deadline });
        }
        Ok(Self { deadline, ..self })
    }

    /// The number of nodes that share the limits, until the server reports it.
    #[must_use]
    pub fn nodes(self, nodes: u32) -> Self {
        Self { nodes: nodes.max(1), ..self }
    }

    /// Whether to refuse from the deny cache where the server would certainly refuse. On by
    /// default.
    #[must_use]
    pub fn deny_cache(self, on: bool) -> Self {
        Self { deny_cache: on, ..self }
    }

    /// The memory for this node's own counters, and for all others while the server is unavailable.
    #[must_use]
    pub fn memory(self, memory: MemoryOptions) -> Self {
        Self { memory, ..self }
    }

    /// Receives the store's events; called from a task of the store, so it must not block.
    #[must_use]
    pub fn on_event(self, handler: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self { on_event: Some(Arc::new(handler)), ..self }
    }

    /// Decides at the times of this clock instead of the server's, so that tests need not sleep.
    ///
    /// All nodes on one server need the same clock.
    #[must_use]
    pub fn driven_by(self, clock: ManualClock) -> Self {
        Self { driven: Some(clock), ..self }
    }

    /// The server's address for diagnostics, without user and password.
    pub fn address(&self) -> String {
        let all = |addresses: &[Address]| {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        match &self.deployment {
            Deployment::Single(address) => address.to_string(),
            Deployment::Sentinel { sentinels, name } => format!("{}/{name}", all(sentinels)),
            Deployment::Cluster { seeds } => all(seeds),
        }
    }

    /// How the servers are deployed: `standalone`, `sentinel` or `cluster`.
    pub fn deployment(&self) -> &'static str {
        match &self.deployment {
            Deployment::Single(_) => "standalone",
            Deployment::Sentinel { .. } => "sentinel",
            Deployment::Cluster { .. } => "cluster",
        }
    }

    /// Whether a replica can take the place of a server.
    pub(crate) fn has_replicas(&self) -> bool {
        !matches!(self.deployment, Deployment::Single(_))
    }

    /// Whether connections to the server are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.connection.addr(), ConnectionAddr::TcpTls { .. })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("address", &self.address())
            .field("prefix", &self.prefix)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
