//! How large the store was when it was last asked.

use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::measured::Size;

/// How large the store was when it was last asked.
#[derive(Debug, Default)]
pub(super) struct SizeMetrics {
    counters: Gauge,
    bytes: Gauge,
    max_bytes: Gauge,
    forgotten: Counter,
}

impl SizeMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "store_counters",
            "Counters kept in the store, recovered ones included until their place is needed",
            self.counters.clone(),
        );
        registry.register("store_bytes", "Bytes that counters take up", self.bytes.clone());
        registry.register(
            "store_max_bytes",
            "The most bytes that counters may take up",
            self.max_bytes.clone(),
        );
        registry.register(
            "store_forgotten",
            "Counters forgotten for want of memory while they still mattered",
            self.forgotten.clone(),
        );
    }

    pub(super) fn set(&self, size: Size) {
        let Size { counters, bytes, max_bytes, forgotten } = size;
        for (gauge, value) in
            [(&self.counters, counters), (&self.bytes, bytes), (&self.max_bytes, max_bytes)]
        {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        // Two scrapes at once may have asked in another order; a counter never goes back.
        self.forgotten.inner().fetch_max(forgotten, Relaxed);
    }
}
