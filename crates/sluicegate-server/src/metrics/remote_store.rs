//! Metrics of the shared store.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluicegate_redis::Stats;

use crate::store_stats::RemoteStats;

/// Reads one count of the statistics.
type ReadCount = fn(&Stats) -> u64;

/// Counters without labels: name, help text, and source.
const COUNTERS: [(&str, &str, ReadCount); 18] = [
    ("store_calls", "Calls to the shared store, each with one or more sets", |c| c.calls),
    ("store_sets", "Sets sent to the shared store", |c| c.sets),
    ("store_connections", "Attempts to connect to the shared store", |c| c.connections),
    ("store_breaker_opened", "How often the circuit breaker of the shared store opened", |c| {
        c.breaker_opened
    }),
    ("store_passed_over", "Requests decided without the shared store although it answered", |c| {
        c.passed_over
    }),
    ("store_state_lost", "How often the shared store lost its counters", |c| c.state_lost),
    (
        "store_invalidations",
        "Entries of the deny cache invalidated by changes of other nodes",
        |c| c.invalidations,
    ),
    ("store_disagreements", "Decisions on which the shared store and this node disagree", |c| {
        c.disagreements
    }),
    ("store_strange_replies", "Replies of the shared store that belonged to another call", |c| {
        c.strange_replies
    }),
    ("store_failovers", "How often another server replaced a failed one", |c| c.failovers),
    ("store_redirects", "Sets that one server of a cluster redirected to another", |c| c.redirects),
    ("store_unconfirmed", "Strict sets that no replica confirmed in time", |c| c.unconfirmed),
    ("store_slot_failures", "Sets whose slot no server of a cluster could serve", |c| {
        c.slot_failures
    }),
    ("store_map_refreshes", "How often the slot map of a cluster was requested", |c| {
        c.map_refreshes
    }),
    ("store_refunds", "Charges and slots refunded in the background", |c| c.refunds),
    ("store_stranded_units", "Units that could not be refunded and return as they refill", |c| {
        c.stranded_units
    }),
    (
        "allowed_by_failure_mode",
        "Requests allowed uncounted because the shared store was unavailable",
        |c| c.allowed_by_policy,
    ),
    ("denied_by_failure_mode", "Requests refused because the shared store was unavailable", |c| {
        c.denied_by_policy
    }),
];

/// The classes of failed calls.
const CLASSES: [(&str, ReadCount); 10] = [
    ("timeout", |c| c.timeouts),
    ("connection", |c| c.connection_failures),
    ("overload", |c| c.overloads),
    ("loading", |c| c.loading),
    ("busy", |c| c.busy),
    ("out_of_memory", |c| c.out_of_memory),
    ("read_only", |c| c.read_only),
    ("refused", |c| c.refused),
    ("no_script", |c| c.no_script),
    ("other", |c| c.other_failures),
];

/// The fallbacks that decide instead of the store.
const DECIDERS: [(&str, ReadCount); 3] = [
    ("memory", |c| c.by_memory),
    ("share", |c| c.by_share),
    ("policy", |c| c.allowed_by_policy.saturating_add(c.denied_by_policy)),
];

/// The state of the shared store at the last scrape.
#[derive(Debug)]
pub(super) struct RemoteStoreMetrics {
    counters: Vec<(Counter, ReadCount)>,
    up: Gauge,
    in_flight: Gauge,
    slots_unserved: Gauge,
    nodes: Gauge,
    clock_offset: Gauge<f64, AtomicU64>,
}

impl RemoteStoreMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let mut counters = Vec::new();
        for (name, help, read) in COUNTERS {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counters.push((counter, read));
        }
        let failures = Family::<[(&str, &str); 1], Counter>::default();
        for (class, read) in CLASSES {
            counters.push((failures.get_or_create_owned(&[("class", class)]), read));
        }
        registry.register(
            "store_failures",
            "Calls to the shared store that failed, by class",
            failures,
        );
        let by = Family::<[(&str, &str); 1], Counter>::default();
        for (name, read) in DECIDERS {
            counters.push((by.get_or_create_owned(&[("by", name)]), read));
        }
        registry.register(
            "decisions_by",
            "Requests decided without the shared store, by the decider",
            by,
        );
        let [up, in_flight, slots_unserved, nodes] = [(); 4].map(|()| Gauge::default());
        let clock_offset = Gauge::default();
        registry.register("store_up", "1 while the shared store answers", up.clone());
        registry.register(
            "store_in_flight",
            "Calls waiting for the shared store now",
            in_flight.clone(),
        );
        registry.register(
            "store_slots_unserved",
            "Slots of a cluster without a known server",
            slots_unserved.clone(),
        );
        registry.register("store_nodes", "Known nodes that share the store", nodes.clone());
        registry.register(
            "store_clock_offset_seconds",
            "How far the clock of the shared store is ahead of the local clock",
            clock_offset.clone(),
        );
        Self { counters, up, in_flight, slots_unserved, nodes, clock_offset }
    }

    pub(super) fn set(&self, RemoteStats { health, counts }: &RemoteStats) {
        for (counter, read) in &self.counters {
            // Concurrent scrapes may arrive out of order, and a counter must not decrease.
            counter.inner().fetch_max(read(counts), Relaxed);
        }
        self.up.set(health.up.into());
        self.in_flight.set(i64::try_from(counts.in_flight).unwrap_or(i64::MAX));
        self.slots_unserved.set(i64::try_from(counts.slots_unserved).unwrap_or(i64::MAX));
        self.nodes.set(health.nodes.into());
        if let Some(micros) = health.clock_offset_micros {
            self.clock_offset.set(seconds(micros));
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a gauge has no more digits")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1_000_000.0
}
