//! The servers of a store: one, or those of a cluster.

use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;
use tokio::time::Instant;

use crate::batcher::{BatchReply, QueuedRequest};
use crate::cluster::ClusterHandle;
use crate::connection::connector::Connector;
use crate::connection::discovery::Discovery;
use crate::connection::heartbeat::Heartbeat;
use crate::error::ServerError;
use crate::event::Health;
use crate::options::{Deployment, Options, OptionsError};
use crate::script::{Counter, EncodedSet};
use crate::sentinel::{self, Sentinels};
use crate::server_client::ServerClient;
use crate::store_context::StoreContext;

/// The servers of a store.
#[derive(Debug)]
pub(crate) enum Topology {
    /// One server, which has all keys.
    One(Arc<ServerClient>),
    /// Servers that each have the keys of some slots.
    Cluster(ClusterHandle),
}

/// The destination of sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetRoute {
    pub(crate) slot: u16,
    /// Whether a replica has to confirm the write.
    pub(crate) strict: bool,
}

/// A server client, borrowed or owned.
pub(crate) enum ClientRef<'a> {
    Lent(&'a ServerClient),
    Own(Arc<ServerClient>),
}

impl Deref for ClientRef<'_> {
    type Target = ServerClient;

    fn deref(&self) -> &ServerClient {
        match self {
            Self::Lent(client) => client,
            Self::Own(client) => client,
        }
    }
}

impl Topology {
    /// Starts to use the servers, connecting in the background.
    pub(crate) fn start(
        context: &Arc<StoreContext>,
        options: &Options,
    ) -> Result<Self, OptionsError> {
        let connector = Connector::new(options, context.key_space.channel())?;
        let one = |discovery| {
            let client =
                ServerClient::start(context, discovery, |_| Heartbeat::new(&context.key_space));
            Ok(Self::One(client))
        };
        match &options.deployment {
            Deployment::Single(address) => one(Discovery::At(Arc::new(connector), address.clone())),
            Deployment::Sentinel { sentinels, name } => {
                let to_sentinels = Connector::to_sentinels(options, sentinel::CHANNEL.to_owned())?;
                let sentinels =
                    Sentinels::watch(&context.runtime, sentinels, name, to_sentinels, connector);
                one(Discovery::Named(Box::new(sentinels)))
            }
            Deployment::Cluster { seeds } => {
                Ok(Self::Cluster(ClusterHandle::start(context, connector, seeds.clone())))
            }
        }
    }

    /// Returns the slot of all counters of a set, or `None` if they are in several. Outside of a
    /// cluster all counters share a slot.
    pub(crate) fn slot_of_all(&self, context: &StoreContext, encoded: &EncodedSet) -> Option<u16> {
        let Self::Cluster(_) = self else { return Some(0) };
        let first = self.slot(context, encoded.counter(0));
        let same = |index| self.slot(context, encoded.counter(index)) == first;
        (1..encoded.checks()).all(same).then_some(first)
    }

    /// Returns the slot of a counter.
    pub(crate) fn slot(&self, context: &StoreContext, counter: Counter) -> u16 {
        match self {
            Self::One(_) => 0,
            Self::Cluster(_) => context.key_space.slot(counter.page()),
        }
    }

    /// Returns the server that serves a slot, if any does.
    pub(crate) fn client(&self, slot: u16) -> Option<ClientRef<'_>> {
        match self {
            Self::One(client) => Some(ClientRef::Lent(client)),
            Self::Cluster(handle) => handle.cluster.client(slot).map(ClientRef::Own),
        }
    }

    /// Returns the same as an owned client.
    pub(crate) fn owned_client(&self, slot: u16) -> Option<Arc<ServerClient>> {
        match self {
            Self::One(client) => Some(Arc::clone(client)),
            Self::Cluster(handle) => handle.cluster.client(slot),
        }
    }

    /// Sends sets in a slot, and returns the answers.
    pub(crate) async fn submit(
        &self,
        sets: SmallVec<[EncodedSet; 1]>,
        to: SetRoute,
        until: Instant,
    ) -> Result<BatchReply, ServerError> {
        match self {
            Self::One(client) => {
                let reply = client.batcher(to.strict).submit(QueuedRequest::new(sets, until)).await;
                reply.map_err(|returned| returned.failure)
            }
            Self::Cluster(handle) => handle.cluster.submit(sets, to, until).await,
        }
    }

    /// Removes this node from the lists of nodes.
    pub(crate) async fn deregister(&self) {
        match self {
            Self::One(client) => client.deregister().await,
            Self::Cluster(handle) => handle.cluster.deregister().await,
        }
    }

    /// The number of nodes that share the limits.
    pub(crate) fn nodes(&self) -> u32 {
        match self {
            Self::One(client) => client.connectivity.nodes(),
            Self::Cluster(handle) => handle.cluster.nodes(),
        }
    }

    /// Waits until all servers have been reached.
    pub(crate) async fn wait_until_connected(&self) {
        match self {
            Self::One(client) => client.connectivity.wait_until_connected().await,
            Self::Cluster(handle) => handle.cluster.wait_until_connected().await,
        }
    }

    /// The health of all servers together, and of each one.
    pub(crate) fn health(&self, context: &StoreContext) -> Health {
        let (parts, unserved) = match self {
            Self::One(client) => (vec![client.connectivity.health()], None),
            Self::Cluster(handle) => (handle.cluster.parts(), handle.cluster.why()),
        };
        let down = parts.iter().find(|part| !part.up);
        let why = match (down, parts.len()) {
            (Some(part), 1) => part.why.clone(),
            (Some(part), _) => {
                let why = part.why.as_deref().unwrap_or("it does not answer");
                Some(format!("{}: {why}", part.address))
            }
            (None, _) => unserved,
        };
        // Since the last change: fully up since the last server recovered, or degraded since the
        // last one failed.
        let since = parts.iter().filter(|part| part.up == down.is_none()).map(|part| part.since);
        let server = parts.iter().find_map(|part| part.server.clone());
        Health {
            up: why.is_none(),
            since: since.min().unwrap_or_default(),
            why,
            clock_offset_micros: server.as_ref().map(|_| context.clock.ahead()),
            server,
            nodes: self.nodes(),
            parts,
        }
    }
}
