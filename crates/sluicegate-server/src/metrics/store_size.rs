//! Metrics of the size of the store.

use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::store_stats::StoreSize;

/// The size of the store at the last scrape.
#[derive(Debug, Default)]
pub(super) struct StoreSizeMetrics {
    counters: Gauge,
    bytes: Gauge,
    max_bytes: Gauge,
    forgotten: Counter,
}

impl StoreSizeMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "store_counters",
            "Counters in the store, including recovered ones until their space is needed",
            self.counters.clone(),
        );
        registry.register("store_bytes", "Bytes that counters occupy", self.bytes.clone());
        registry.register(
            "store_max_bytes",
            "The most bytes that counters may occupy",
            self.max_bytes.clone(),
        );
        registry.register(
            "store_forgotten",
            "Counters evicted for lack of memory before they had recovered",
            self.forgotten.clone(),
        );
    }

    pub(super) fn set(&self, size: StoreSize) {
        let StoreSize { counters, bytes, max_bytes, forgotten } = size;
        for (gauge, value) in
            [(&self.counters, counters), (&self.bytes, bytes), (&self.max_bytes, max_bytes)]
        {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        // Concurrent scrapes may arrive out of order, and a counter must not decrease.
        self.forgotten.inner().fetch_max(forgotten, Relaxed);
    }
}
