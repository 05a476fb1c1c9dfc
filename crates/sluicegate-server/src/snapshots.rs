//! What is known of the store's snapshots, for the metrics.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluicegate::{Saved, SnapshotError};

/// Counts the snapshots of a store. Clones count together.
///
/// Whoever takes the snapshots tells it of each; a [`Server`](crate::Server) that was given it
/// shows what it was told.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    taken: Gauge,
    failures: Counter,
}

impl Snapshots {
    /// Nothing told yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells what became of a snapshot.
    pub fn tell(&self, outcome: &Result<Saved, SnapshotError>) {
        match outcome {
            Ok(saved) => {
                let seconds = saved.taken.as_micros() / 1_000_000;
                self.taken.set(i64::try_from(seconds).unwrap_or(i64::MAX));
            }
            Err(_) => {
                self.failures.inc();
            }
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "snapshot_taken_timestamp_seconds",
            "When the last snapshot was taken; 0 before the first",
            self.taken.clone(),
        );
        registry.register(
            "snapshot_failures",
            "Snapshots that could not be written",
            self.failures.clone(),
        );
    }
}
