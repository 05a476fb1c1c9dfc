//! What a file says about the program itself: where counters live, where to listen.

use std::net::SocketAddr;
use std::path::PathBuf;

use tollgate::Span;

/// What a file says about the program itself; what it leaves out is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The memory store.
    pub memory: MemorySettings,
    /// Where to listen for HTTP.
    pub http: Option<Listen>,
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

/// Where to listen, or not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// At this address.
    At(SocketAddr),
    /// Not at all.
    Off,
}
