//! The traffic of a proxy, and its losses.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the proxy was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Bytes delivered to the server.
    pub bytes_to_server: u64,
    /// Bytes delivered to clients.
    pub bytes_to_clients: u64,
    /// Replies delivered to clients.
    pub replies: u64,
    /// Replies lost: those cut out, and those under which a connection was lost.
    pub replies_dropped: u64,
}

/// The counters as atomics.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) connections: AtomicU64,
    pub(super) bytes_to_server: AtomicU64,
    pub(super) bytes_to_clients: AtomicU64,
    pub(super) replies: AtomicU64,
    pub(super) replies_dropped: AtomicU64,
}

impl Counters {
    pub(super) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Counts {
            connections: read(&self.connections),
            bytes_to_server: read(&self.bytes_to_server),
            bytes_to_clients: read(&self.bytes_to_clients),
            replies: read(&self.replies),
            replies_dropped: read(&self.replies_dropped),
        }
    }
}

/// Increments a counter.
pub(super) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::SeqCst);
}
