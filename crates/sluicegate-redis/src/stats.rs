//! Counters of what the store does.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares counters once: as atomics to increment, and as numbers to read.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters as atomics.
        #[derive(Debug, Default)]
        pub(crate) struct StatCounters {
            $(pub(crate) $name: StatCounter,)*
        }

        /// Counters since the store was started.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl StatCounters {
            pub(crate) fn read(&self) -> Stats {
                Stats { $($name: self.$name.get(),)* }
            }
        }
    };
}

counts! {
    /// Calls to the server, each with one or more sets.
    calls,
    /// Sets that were sent to the server.
    sets,
    /// Calls that are waiting for an answer now.
    in_flight,
    /// Calls that the server did not answer in time.
    timeouts,
    /// Calls and attempts to connect that failed because of the connection.
    connection_failures,
    /// Sets that were not sent because too many were waiting.
    overloads,
    /// The server was loading its data.
    loading,
    /// The server was busy with another client's script.
    busy,
    /// The server was out of memory.
    out_of_memory,
    /// The server is a replica or otherwise read-only.
    read_only,
    /// The server refused authentication or a command that is needed.
    refused,
    /// The server had lost a script, which was then sent again.
    no_script,
    /// Sets that a server of a cluster redirected to another one.
    redirects,
    /// Sets whose slot no server of a cluster could serve at that moment.
    slot_failures,
    /// Strict sets that no replica confirmed in time.
    unconfirmed,
    /// How often the slot map of a cluster was fetched.
    map_refreshes,
    /// Slots of a cluster that no server is known to serve now.
    slots_unserved,
    /// How often a primary was replaced by another server.
    failovers,
    /// Subsets that were refunded because another subset was refused.
    refunds,
    /// Units whose refund failed: they return as the counter refills.
    stranded_units,
    /// Any other error that the server returned.
    other_failures,
    /// Replies that belonged to another call; the connection was closed.
    strange_replies,
    /// How often the circuit breaker opened, until the server answered again.
    breaker_opened,
    /// Sets refused from the deny cache, without a call.
    by_memory,
    /// Sets decided within this node's share, because the store was unavailable.
    by_share,
    /// Sets allowed without being counted, because the store was unavailable.
    allowed_by_policy,
    /// Sets refused because the store was unavailable.
    denied_by_policy,
    /// Sets decided without the store although it answered: it was late, overloaded or out of
    /// memory.
    passed_over,
    /// Counters that other nodes refunded or charged, and that were removed from the deny cache.
    invalidations,
    /// How often the server had lost its data.
    state_lost,
    /// Answers that the server and this node disagree on. Zero, unless there is a bug.
    disagreements,
    /// Attempts to connect.
    connections,
}

/// One counter.
#[derive(Debug, Default)]
pub(crate) struct StatCounter(AtomicU64);

impl StatCounter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    pub(crate) fn one(&self) {
        self.add(1);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
