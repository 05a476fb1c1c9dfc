//! Where the server is, and how it is to be used.

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

/// Told of what becomes of the store.
pub(crate) type OnEvent = Arc<dyn Fn(&Event) + Send + Sync>;

/// Where the server is, and how it is to be used.
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
    /// How any server is spoken to.
    pub(crate) connection: ConnectionInfo,
    /// Who we are to sentinels, which have users of their own.
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
    /// What keys begin with unless something else is said.
    pub const PREFIX: &'static str = "sluicegate:";
    /// The longest prefix, in bytes.
    pub const MAX_PREFIX: usize = 64;
    /// The longest that a decision waits for the server, unless something else is said.
    pub const DEADLINE: Duration = Duration::from_millis(10);
    /// How many pages the callers of a limit are spread over, unless something else is said.
    pub const PAGES: u32 = 1 << 16;

    /// The server or servers that a URL names:
    ///
    /// | | |
    /// |---|---|
    /// | one server | `redis://[user[:password]@]host[:port][/database]` |
    /// | the primary that sentinels name | `redis+sentinel://[user[:password]@]host[:port],…/name[/database]` |
    /// | a cluster, by some of its servers | `redis+cluster://[user[:password]@]host[:port],…` |
    ///
    /// With `rediss` instead of `redis` everything is encrypted, the way to sentinels too.
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

    /// Who we are to the server.
    #[must_use]
    pub fn username(mut self, name: &str) -> Self {
        let settings = self.connection.redis_settings().clone().set_username(name);
        self.connection = self.connection.set_redis_settings(settings);
        self
    }

    /// What proves it.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "a secret is handed over, not lent")]
    pub fn password(mut self, password: String) -> Self {
        let settings = self.connection.redis_settings().clone().set_password(password);
        self.connection = self.connection.set_redis_settings(settings);
        self
    }

    /// Who we are to the sentinels, and what proves it. They have users of their own, or none.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "a secret is handed over, not lent")]
    pub fn sentinel_access(mut self, name: Option<&str>, password: String) -> Self {
        self.sentinel = self.sentinel.set_password(password);
        if let Some(name) = name {
            self.sentinel = self.sentinel.set_username(name);
        }
        self
    }

    /// The certificates (PEM) of those who may vouch for the server, instead of those that this
    /// machine trusts.
    #[must_use]
    pub fn ca_pem(self, pem: Vec<u8>) -> Self {
        Self { ca_pem: Some(pem), ..self }
    }

    /// What keys begin with: whoever has another prefix has other counters.
    pub fn prefix(self, prefix: &str) -> Result<Self, OptionsError> {
        let wrong = |c: char| matches!(c, '{' | '}') || c.is_control() || c.is_whitespace();
        if prefix.len() > Self::MAX_PREFIX || prefix.contains(wrong) {
            return Err(OptionsError::Prefix);
        }
        Ok(Self { prefix: prefix.to_owned(), ..self })
    }

    /// How many pages the callers of one limit are spread over: a power of two up to 2^20.
    ///
    /// A page with sixteen callers or more costs the server under 30 bytes for each, and one with
    /// hundreds costs time. All nodes have to say the same; other pages are other counters.
    pub fn pages(self, pages: u32) -> Result<Self, OptionsError> {
        if !pages.is_power_of_two() || pages > 1 << 20 {
            return Err(OptionsError::Pages { found: pages });
        }
        Ok(Self { page_bits: pages.ilog2(), ..self })
    }

    /// What the digests are keyed with under which callers are known to the server. All nodes
    /// have to say the same.
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

    /// How many nodes share the limits, as long as the server has not told.
    #[must_use]
    pub fn nodes(self, nodes: u32) -> Self {
        Self { nodes: nodes.max(1), ..self }
    }

    /// Whether a caller that certainly has to be refused is, without asking the server. Usually so.
    #[must_use]
    pub fn deny_cache(self, on: bool) -> Self {
        Self { deny_cache: on, ..self }
    }

    /// The memory that counters of this node alone live in, and all others while the server is
    /// not there.
    #[must_use]
    pub fn memory(self, memory: MemoryOptions) -> Self {
        Self { memory, ..self }
    }

    /// Tells of what becomes of the store; called from its own task, so it must not wait.
    #[must_use]
    pub fn on_event(self, tell: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self { on_event: Some(Arc::new(tell)), ..self }
    }

    /// Decides at the times of this clock instead of the server's: for tests, which then need not
    /// sleep. All nodes on one server need the same clock.
    #[must_use]
    pub fn driven_by(self, clock: ManualClock) -> Self {
        Self { driven: Some(clock), ..self }
    }

    /// Where the server is, for people: without user or password.
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

    /// Whether another server may take the place of one.
    pub(crate) fn has_replicas(&self) -> bool {
        !matches!(self.deployment, Deployment::Single(_))
    }

    /// Whether the way to the server is encrypted.
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
