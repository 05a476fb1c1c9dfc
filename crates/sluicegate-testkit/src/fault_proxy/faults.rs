//! The faults of a proxy.

use std::sync::Arc;
use std::time::Duration;

use super::sampler::Sampler;

/// The number of a connection through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

/// The fault of connections and of their data.
#[derive(Clone, Default, PartialEq)]
pub(super) enum FaultMode {
    #[default]
    Forward,
    Silent,
    /// Silent except for these.
    Isolate(Arc<[ConnectionId]>),
    Refuse,
    DropReplies(Sampler),
    SwallowReplies(Sampler),
}

impl FaultMode {
    /// Whether this connection is silent.
    pub(super) fn silences(&self, connection: ConnectionId) -> bool {
        match self {
            Self::Silent => true,
            Self::Isolate(kept) => !kept.contains(&connection),
            _ => false,
        }
    }
}

/// All settings.
#[derive(Clone, Default)]
pub(super) struct Faults {
    pub(super) mode: FaultMode,
    pub(super) delay: Duration,
}
