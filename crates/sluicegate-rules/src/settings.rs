//! What a file says about the program itself: where counters live, where to listen.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use sluicegate::Span;

use crate::store_url::StoreUrl;

/// What a file says about the program itself; what it leaves out is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The memory store; beside a shared one, what a node keeps by itself.
    pub memory: MemorySettings,
    /// The store that nodes share, if there is one.
    pub redis: Option<RedisSettings>,
    /// Where to listen for HTTP.
    pub http: Option<Listen>,
    /// Where to listen for gRPC.
    pub grpc: Option<Listen>,
    /// Where to listen for the protocol of Redis.
    pub resp: Option<Listen>,
    /// Networks whose connections begin with a PROXY header, as they are written.
    pub proxy_protocol: Vec<String>,
}

/// The settings of the memory store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// The most bytes that counters take.
    pub max: Option<u64>,
    /// A file that keeps the counters over a restart.
    pub snapshot: Option<PathBuf>,
    /// How often it is written.
    pub snapshot_every: Option<Span>,
}

/// The settings of a Redis or Valkey that nodes share.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisSettings {
    /// Where the server is, or the servers are.
    pub url: StoreUrl,
    /// Who we are to it.
    pub username: Option<String>,
    /// What proves it …
    pub password: Option<String>,
    /// … or a file that has it, to be read at the start.
    pub password_file: Option<PathBuf>,
    /// Who we are to sentinels, if those say where the server is.
    pub sentinel: SentinelAccess,
    /// A file with the certificates of those who may vouch for the server.
    pub ca_file: Option<PathBuf>,
    /// What keys begin with.
    pub prefix: Option<String>,
    /// How many pages the callers of a limit are spread over.
    pub pages: Option<u32>,
    /// The longest that a decision waits for the server.
    pub deadline: Option<Span>,
    /// How many nodes share the limits, as long as the server has not told.
    pub nodes: Option<u32>,
    /// Whether a caller that certainly has to be refused is, without asking the server.
    pub deny_cache: Option<bool>,
}

impl RedisSettings {
    /// Nothing but where the server is.
    pub const fn at(url: StoreUrl) -> Self {
        Self {
            url,
            username: None,
            password: None,
            password_file: None,
            sentinel: SentinelAccess::NONE,
            ca_file: None,
            prefix: None,
            pages: None,
            deadline: None,
            nodes: None,
            deny_cache: None,
        }
    }
}

// What is printed for debugging may end up in a log as well.
impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Who we are to sentinels, which have users of their own, or none.
#[derive(Clone, PartialEq, Eq)]
pub struct SentinelAccess {
    /// Who we are to them.
    pub username: Option<String>,
    /// What proves it …
    pub password: Option<String>,
    /// … or a file that has it, to be read at the start.
    pub password_file: Option<PathBuf>,
}

impl SentinelAccess {
    /// Nobody in particular.
    pub const NONE: Self = Self { username: None, password: None, password_file: None };
}

// What is printed for debugging may end up in a log as well.
impl fmt::Debug for SentinelAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentinelAccess").finish_non_exhaustive()
    }
}

/// Where to listen, or not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// At this address.
    At(SocketAddr),
    /// Not at all.
    Off,
}
