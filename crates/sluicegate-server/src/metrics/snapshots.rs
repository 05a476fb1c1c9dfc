//! Metrics of the store's snapshots.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluicegate::{SaveReport, SnapshotWriteError};

/// Counts the snapshots of a store. Clones share their counts.
///
/// The writer of the snapshots reports every outcome here; a [`Server`](crate::Server) publishes
/// them.
#[derive(Debug, Clone, Default)]
pub struct Snapshots {
    taken: Gauge,
    failures: Counter,
}

impl Snapshots {
    /// Creates metrics without any snapshot.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports the outcome of a snapshot.
    pub fn record(&self, outcome: &Result<SaveReport, SnapshotWriteError>) {
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
