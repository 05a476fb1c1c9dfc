//! How the store was doing that nodes share when it was last asked.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluicegate_redis::Counts;

use crate::measured::Shared;

/// Reads one of the counts.
type Read = fn(&Counts) -> u64;

/// Counters without labels: what they are called, what they count, and where it is found.
const COUNTERS: [(&str, &str, Read); 18] = [
    ("store_calls", "Calls to the shared store, each with one or more sets", |c| c.calls),
    ("store_sets", "Sets put to the shared store", |c| c.sets),
    ("store_connections", "Connections to the shared store that were tried", |c| c.connections),
    ("store_breaker_opened", "How often the shared store was given up until it answers", |c| {
        c.breaker_opened
    }),
    ("store_passed_over", "Requests decided without the shared store although it answered", |c| {
        c.passed_over
    }),
    ("store_state_lost", "How often the shared store had lost its counters", |c| c.state_lost),
    ("store_invalidations", "Counters in the deny cache that other nodes have changed", |c| {
        c.invalidations
    }),
    ("store_disagreements", "Answers that the shared store and this node disagree on", |c| {
        c.disagreements
    }),
    ("store_strange_replies", "Replies of the shared store that belonged to another call", |c| {
        c.strange_replies
    }),
    ("store_failovers", "How often another server took the place of one", |c| c.failovers),
    ("store_redirects", "Sets that a server of a cluster sent on to another one", |c| c.redirects),
    ("store_unconfirmed", "Strict sets that no replica had in time", |c| c.unconfirmed),
    ("store_slot_failures", "Sets whose slot no server of a cluster could serve", |c| {
        c.slot_failures
    }),
    ("store_map_refreshes", "How often the map of a cluster was asked for", |c| c.map_refreshes),
    ("store_refunds", "Charges and slots given back that nobody waits for", |c| c.refunds),
    (
        "store_stranded_units",
        "Units that could not be given back and come back as they refill",
        |c| c.stranded_units,
    ),
    (
        "allowed_by_failure_mode",
        "Requests let through uncounted because the shared store was not there",
        |c| c.allowed_by_policy,
    ),
    ("denied_by_failure_mode", "Requests refused because the shared store was not there", |c| {
        c.denied_by_policy
    }),
];

/// What calls may fail of.
const CLASSES: [(&str, Read); 10] = [
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

/// Who decides in place of the store.
const DECIDERS: [(&str, Read); 3] = [
    ("memory", |c| c.by_memory),
    ("share", |c| c.by_share),
    ("policy", |c| c.allowed_by_policy.saturating_add(c.denied_by_policy)),
];

/// How the store was doing when it was last asked.
#[derive(Debug)]
pub(super) struct SharedMetrics {
    counters: Vec<(Counter, Read)>,
    up: Gauge,
    in_flight: Gauge,
    slots_unserved: Gauge,
    nodes: Gauge,
    clock_offset: Gauge<f64, AtomicU64>,
}

impl SharedMetrics {
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
            "Requests decided by somebody else than the shared store",
            by,
        );
        let [up, in_flight, slots_unserved, nodes] = [(); 4].map(|()| Gauge::default());
        let clock_offset = Gauge::default();
        registry.register("store_up", "1 while the shared store answers", up.clone());
        registry.register(
            "store_in_flight",
            "Calls that wait for the shared store now",
            in_flight.clone(),
        );
        registry.register(
            "store_slots_unserved",
            "Slots of a cluster that no server is known to serve now",
            slots_unserved.clone(),
        );
        registry.register(
            "store_nodes",
            "Nodes that share the store, as far as is known",
            nodes.clone(),
        );
        registry.register(
            "store_clock_offset_seconds",
            "How far the clock of the shared store is ahead of this machine's",
            clock_offset.clone(),
        );
        Self { counters, up, in_flight, slots_unserved, nodes, clock_offset }
    }

    pub(super) fn set(&self, Shared { health, counts }: &Shared) {
        for (counter, read) in &self.counters {
            // Two scrapes at once may have asked in another order; a counter never goes back.
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
