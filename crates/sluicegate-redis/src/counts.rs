//! How often what has happened.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares counters once: as atomics that are counted up, and as numbers that are read.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters while they are counted.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// How often what has happened since the store was started.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn read(&self) -> Counts {
                Counts { $($name: self.$name.get(),)* }
            }
        }
    };
}

counts! {
    /// Calls to the server, each with one or more sets.
    calls,
    /// Sets that were put to the server.
    sets,
    /// Calls that wait for an answer now.
    in_flight,
    /// Calls that the server did not answer in time.
    timeouts,
    /// Calls and attempts to connect that failed because of the connection.
    connection_failures,
    /// Sets that were not sent because too many were waiting.
    overloads,
    /// The server was loading its data.
    loading,
    /// The server was busy with a script of somebody else.
    busy,
    /// The server had no memory left.
    out_of_memory,
    /// The server may only be read: it is a replica.
    read_only,
    /// The server did not let us in, or not do what we need.
    refused,
    /// The server had forgotten a script, and was told it again.
    no_script,
    /// Sets that a server of a cluster sent on to another one.
    redirects,
    /// Sets whose slot no server of a cluster could serve at that moment.
    slot_failures,
    /// Strict sets that no replica had in time.
    unconfirmed,
    /// How often the map of a cluster was asked for.
    map_refreshes,
    /// Slots of a cluster that no server is known to serve now.
    slots_unserved,
    /// How often another server took the place of one: a primary was replaced.
    failovers,
    /// Parts of sets that were given back because another part was refused.
    refunds,
    /// Units that were to be given back and could not be: they come back as they refill.
    stranded_units,
    /// Anything else that the server answered instead of an answer.
    other_failures,
    /// Replies that belonged to another call; the connection was given up.
    strange_replies,
    /// How often the store was given up until it answers again.
    breaker_opened,
    /// Sets refused from what was last seen of a counter, without a call.
    by_memory,
    /// Sets decided by this node within its share, because the store was not there.
    by_share,
    /// Sets allowed without being counted, because the store was not there.
    allowed_by_policy,
    /// Sets refused because the store was not there.
    denied_by_policy,
    /// Sets decided without the store although it answered: it was late, overloaded or out of memory.
    passed_over,
    /// Counters that other nodes gave something back to or charged, and that were forgotten here.
    invalidations,
    /// How often the server had forgotten what it knew.
    state_lost,
    /// Answers that the server and this node do not agree on. Never, unless something is broken.
    disagreements,
    /// Connections that were tried.
    connections,
}

/// One of them.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
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
