//! The servers of a store: one, or those of a cluster.

use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;
use tokio::time::Instant;

use crate::cluster::Surveyed;
use crate::common::Common;
use crate::connection::Connector;
use crate::courier::{Letter, Reply};
use crate::event::Health;
use crate::failure::Failure;
use crate::heartbeat::Heartbeat;
use crate::link::Link;
use crate::options::{Deployment, Options, OptionsError};
use crate::sentinel::{self, Sentinels};
use crate::twin::{Counter, Packed};
use crate::whereabouts::Whereabouts;

/// The servers of a store.
#[derive(Debug)]
pub(crate) enum Servers {
    /// One, which has all keys.
    One(Arc<Link>),
    /// Each has the keys of some slots.
    Cluster(Surveyed),
}

/// Where sets go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct To {
    pub(crate) slot: u16,
    /// Whether a replica has to have what is written.
    pub(crate) strict: bool,
}

/// A link that is looked at.
pub(crate) enum Looked<'a> {
    Lent(&'a Link),
    Own(Arc<Link>),
}

impl Deref for Looked<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        match self {
            Self::Lent(link) => link,
            Self::Own(link) => link,
        }
    }
}

impl Servers {
    /// Begins to use them; they are reached in the background.
    pub(crate) fn start(common: &Arc<Common>, options: &Options) -> Result<Self, OptionsError> {
        let connector = Connector::new(options, common.naming.channel())?;
        let one = |whereabouts| {
            let link = Link::start(common, whereabouts, |_| Heartbeat::new(&common.naming));
            Ok(Self::One(link))
        };
        match &options.deployment {
            Deployment::Single(address) => {
                one(Whereabouts::At(Arc::new(connector), address.clone()))
            }
            Deployment::Sentinel { sentinels, name } => {
                let to_sentinels = Connector::to_sentinels(options, sentinel::CHANNEL.to_owned())?;
                let watched =
                    Sentinels::watch(&common.handle, sentinels, name, to_sentinels, connector);
                one(Whereabouts::Named(Box::new(watched)))
            }
            Deployment::Cluster { seeds } => {
                Ok(Self::Cluster(Surveyed::start(common, connector, seeds.clone())))
            }
        }
    }

    /// The slot that all counters of a set are in; `None` if there is none. Where one server has all
    /// keys, all are in the same.
    pub(crate) fn slot_of_all(&self, common: &Common, packed: &Packed) -> Option<u16> {
        let Self::Cluster(_) = self else { return Some(0) };
        let first = self.slot(common, packed.counter(0));
        let same = |index| self.slot(common, packed.counter(index)) == first;
        (1..packed.checks()).all(same).then_some(first)
    }

    /// The slot that a counter is in.
    pub(crate) fn slot(&self, common: &Common, counter: Counter) -> u16 {
        match self {
            Self::One(_) => 0,
            Self::Cluster(_) => common.naming.slot(counter.page()),
        }
    }

    /// The link that serves a slot, if any does.
    pub(crate) fn link(&self, slot: u16) -> Option<Looked<'_>> {
        match self {
            Self::One(link) => Some(Looked::Lent(link)),
            Self::Cluster(surveyed) => surveyed.cluster.link(slot).map(Looked::Own),
        }
    }

    /// The same, to keep.
    pub(crate) fn own_link(&self, slot: u16) -> Option<Arc<Link>> {
        match self {
            Self::One(link) => Some(Arc::clone(link)),
            Self::Cluster(surveyed) => surveyed.cluster.link(slot),
        }
    }

    /// Asks about sets in a slot.
    pub(crate) async fn ask(
        &self,
        sets: SmallVec<[Packed; 1]>,
        to: To,
        until: Instant,
    ) -> Result<Reply, Failure> {
        match self {
            Self::One(link) => {
                let reply = link.courier(to.strict).ask(Letter::new(sets, until)).await;
                reply.map_err(|returned| returned.failure)
            }
            Self::Cluster(surveyed) => surveyed.cluster.ask(sets, to, until).await,
        }
    }

    /// Takes this node off the lists of nodes.
    pub(crate) async fn deregister(&self) {
        match self {
            Self::One(link) => link.deregister().await,
            Self::Cluster(surveyed) => surveyed.cluster.deregister().await,
        }
    }

    /// How many nodes share the limits.
    pub(crate) fn nodes(&self) -> u32 {
        match self {
            Self::One(link) => link.condition.nodes(),
            Self::Cluster(surveyed) => surveyed.cluster.nodes(),
        }
    }

    /// Waits until all have been reached.
    pub(crate) async fn reached(&self) {
        match self {
            Self::One(link) => link.condition.reached().await,
            Self::Cluster(surveyed) => surveyed.cluster.reached().await,
        }
    }

    /// How they are doing, all in all and one by one.
    pub(crate) fn health(&self, common: &Common) -> Health {
        let (parts, unserved) = match self {
            Self::One(link) => (vec![link.condition.part()], None),
            Self::Cluster(surveyed) => (surveyed.cluster.parts(), surveyed.cluster.why()),
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
        // Since the last change: whole since the last one came, or in parts since the last one went.
        let since = parts.iter().filter(|part| part.up == down.is_none()).map(|part| part.since);
        let server = parts.iter().find_map(|part| part.server.clone());
        Health {
            up: why.is_none(),
            since: since.min().unwrap_or_default(),
            why,
            clock_offset_micros: server.as_ref().map(|_| common.clock.ahead()),
            server,
            nodes: self.nodes(),
            parts,
        }
    }
}
