//! The size and the health of a store, for metrics and `/readyz`.

use sluicegate::{Clock, Memory, Store};
use sluicegate_audit::RecordingStore;
use sluicegate_redis::{Health, Redis, Stats};

/// A store that reports its size and its health.
pub trait StoreStats: Store {
    /// Returns the size of the counters in the memory of this process.
    fn size(&self) -> StoreSize;

    /// Returns the state of the shared store; `None` if nodes share none.
    fn shared(&self) -> Option<RemoteStats> {
        None
    }
}

/// The state of a shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteStats {
    /// Whether it is reachable.
    pub health: Health,
    /// Counts of its events.
    pub counts: Stats,
}

/// The size of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// The number of counters.
    pub counters: usize,
    /// The bytes that they occupy …
    pub bytes: usize,
    /// … and the limit on them.
    pub max_bytes: usize,
    /// The counters that were evicted for lack of memory before they had recovered.
    pub forgotten: u64,
}

impl<C: Clock> StoreStats for Memory<C> {
    fn size(&self) -> StoreSize {
        StoreSize {
            counters: self.len(),
            bytes: self.bytes(),
            max_bytes: self.max_bytes(),
            forgotten: self.forgotten(),
        }
    }
}

impl StoreStats for Redis {
    fn size(&self) -> StoreSize {
        self.memory().size()
    }

    fn shared(&self) -> Option<RemoteStats> {
        Some(RemoteStats { health: self.health(), counts: self.counts() })
    }
}

/// Delegates to the recorded store, because recording changes neither its size nor its health.
impl<S: StoreStats> StoreStats for RecordingStore<S> {
    fn size(&self) -> StoreSize {
        self.store().size()
    }

    fn shared(&self) -> Option<RemoteStats> {
        self.store().shared()
    }
}
