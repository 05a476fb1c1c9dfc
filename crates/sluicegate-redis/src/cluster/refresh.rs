//! Keeps the slot map of a cluster up to date, refreshing it when it may be outdated.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Cluster;
use super::slots_reply::ClusterSlots;
use crate::address::Address;
use crate::connection::connector::{Connector, in_time};
use crate::error::ServerError;
use crate::event::Event;

/// Least interval between two refreshes.
const PAUSE: Duration = Duration::from_secs(1);
/// Interval between attempts until the first map is known.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Interval between refreshes while all is well: redirects report changes in between.
const IDLE_PAUSE: Duration = Duration::from_secs(10);

/// Keeps the slot map of a cluster up to date.
pub(super) struct TopologyRefresh {
    pub(super) cluster: Arc<Cluster>,
    pub(super) connector: Arc<Connector>,
    pub(super) seeds: Vec<Address>,
}

/// The state of the refresh loop.
#[derive(Default)]
struct PendingRefresh {
    connection: Option<(Address, MultiplexedConnection)>,
    /// Servers that the last map named.
    known: Vec<Address>,
    unserved: usize,
    turn: usize,
}

impl TopologyRefresh {
    /// Runs until the store is dropped.
    pub(super) async fn run(self) {
        let mut state = PendingRefresh::default();
        loop {
            let began = Instant::now();
            let pause = match self.fetch(&mut state).await {
                Ok(reply) => {
                    self.cluster.context.counters.map_refreshes.one();
                    self.update_map(&reply, &mut state);
                    PAUSE
                }
                Err(failure) => {
                    self.cluster.context.count(&failure);
                    self.cluster.record_failure(&failure);
                    if self.cluster.has_map() { PAUSE } else { FIRST_PAUSE }
                }
            };
            sleep_until(began + pause).await;
            if self.cluster.is_whole() {
                // A notification since the last refresh ends the wait at once.
                let _ =
                    timeout_at(began + IDLE_PAUSE, self.cluster.context.map_stale.notified()).await;
            }
        }
    }

    /// Asks one server after the other, and returns the first map.
    async fn fetch(&self, state: &mut PendingRefresh) -> Result<ClusterSlots, ServerError> {
        if !self.cluster.is_whole() {
            state.connection = None;
        }
        if let Some((address, connection)) = &mut state.connection {
            match in_time(ClusterSlots::of(connection, address)).await {
                Ok(reply) if !reply.ranges.is_empty() => return Ok(reply),
                _ => state.connection = None,
            }
        }
        let mut failure = None;
        let mut addresses = self.cluster.addresses();
        addresses.extend(state.known.iter().chain(&self.seeds).cloned());
        // Starts with a different server each time: one that is partitioned keeps an outdated map.
        state.turn = state.turn.wrapping_add(1);
        let first = state.turn % addresses.len().max(1);
        addresses.rotate_left(first);
        for address in &addresses {
            match self.fetch_from(address, &mut state.connection).await {
                Ok(reply) if !reply.ranges.is_empty() => return Ok(reply),
                Ok(_) => {
                    let why = format!("{address} reports a slot map without slots");
                    failure = Some(ServerError::new(crate::error::ErrorKind::ClusterDown, why));
                }
                Err(found) => failure = Some(found),
            }
            state.connection = None;
        }
        let no_address = || {
            ServerError::new(
                crate::error::ErrorKind::Connection,
                "no server to ask for the slot map",
            )
        };
        Err(failure.unwrap_or_else(no_address))
    }

    async fn fetch_from(
        &self,
        address: &Address,
        kept: &mut Option<(Address, MultiplexedConnection)>,
    ) -> Result<ClusterSlots, ServerError> {
        let mut connection = self.connector.connect_unsubscribed(address).await?;
        let reply = in_time(ClusterSlots::of(&mut connection, address)).await?;
        *kept = Some((address.clone(), connection));
        Ok(reply)
    }

    /// Updates the slot map.
    fn update_map(&self, reply: &ClusterSlots, state: &mut PendingRefresh) {
        let unserved = self.cluster.update_map(reply, &state.known);
        if unserved != state.unserved {
            self.cluster.context.emit(&Event::SlotsUnserved { slots: unserved });
        }
        state.unserved = unserved;
        state.known.clear();
        for range in &reply.ranges {
            for address in range.replicas.iter().chain([&range.primary]) {
                if !state.known.contains(address) {
                    state.known.push(address.clone());
                }
            }
        }
    }
}
