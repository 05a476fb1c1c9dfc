//! What a proxy is told to do.

use std::sync::Arc;
use std::time::Duration;

use super::chance::Chance;

/// One connection through a proxy, as long as there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

/// What happens to connections and to what they carry.
#[derive(Clone, Default, PartialEq)]
pub(super) enum Mode {
    #[default]
    Forward,
    Silent,
    /// Silent but for these.
    Isolate(Arc<[ConnectionId]>),
    Refuse,
    DropReplies(Chance),
    SwallowReplies(Chance),
}

impl Mode {
    /// Whether nothing passes on this connection.
    pub(super) fn silences(&self, connection: ConnectionId) -> bool {
        match self {
            Self::Silent => true,
            Self::Isolate(kept) => !kept.contains(&connection),
            _ => false,
        }
    }
}

/// All of it.
#[derive(Clone, Default)]
pub(super) struct Switches {
    pub(super) mode: Mode,
    pub(super) delay: Duration,
}
