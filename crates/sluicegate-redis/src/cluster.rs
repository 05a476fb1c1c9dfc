//! A Redis cluster: the slot map, the servers, and following of redirects.

mod refresh;
pub(crate) mod slot;
mod slot_map;
mod slots_reply;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use smallvec::SmallVec;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::refresh::TopologyRefresh;
pub(crate) use self::slot_map::SlotMap;
use self::slots_reply::ClusterSlots;
use crate::address::Address;
use crate::batcher::{BatchReply, QueuedRequest, RejectedSets};
use crate::connection::connector::Connector;
use crate::connection::discovery::Discovery;
use crate::connection::heartbeat::Heartbeat;
use crate::error::{ErrorKind, ServerError};
use crate::event::{Event, ServerHealth};
use crate::script::EncodedSet;
use crate::server_client::ServerClient;
use crate::store_context::StoreContext;
use crate::topology::SetRoute;

/// The most redirects of one request. Servers that disagree could redirect it forever.
const MAX_REDIRECTS: usize = 5;
/// Interval between retries for a slot whose keys are split between two servers.
const RETRY_PAUSE: Duration = Duration::from_millis(1);
/// More servers than a cluster of a reasonable size has, so that a wrong map cannot make us open
/// connections without bound.
const MAX_SERVERS: usize = 1_000;

/// A Redis cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    context: Arc<StoreContext>,
    connector: Arc<Connector>,
    slot_map: Arc<SlotMap>,
    members: ArcSwap<Vec<ClusterMember>>,
    /// Locked while a member is added or removed.
    changing: Mutex<()>,
    map_status: watch::Sender<Result<(), String>>,
}

/// A server that serves slots, or did.
#[derive(Debug, Clone)]
struct ClusterMember {
    address: Address,
    client: Arc<ServerClient>,
    /// Whether it was missing from the last map; the second time, it is removed.
    is_leaving: bool,
}

/// A cluster in use: as long as this lives, its slot map is kept up to date.
#[derive(Debug)]
pub(crate) struct ClusterHandle {
    pub(crate) cluster: Arc<Cluster>,
    refresh: JoinHandle<()>,
}

impl ClusterHandle {
    pub(crate) fn start(
        context: &Arc<StoreContext>,
        connector: Connector,
        seeds: Vec<Address>,
    ) -> Self {
        let connector = Arc::new(connector);
        let why = String::from("its slot map is not known yet");
        let cluster = Arc::new(Cluster {
            context: Arc::clone(context),
            connector: Arc::clone(&connector),
            slot_map: Arc::new(SlotMap::new()),
            members: ArcSwap::default(),
            changing: Mutex::default(),
            map_status: watch::Sender::new(Err(why)),
        });
        let refresh = TopologyRefresh { cluster: Arc::clone(&cluster), connector, seeds };
        Self { cluster, refresh: context.runtime.spawn(refresh.run()) }
    }
}

impl Drop for ClusterHandle {
    fn drop(&mut self) {
        self.refresh.abort();
    }
}

impl Cluster {
    /// Returns the server that serves a slot.
    pub(crate) fn client(&self, slot: u16) -> Option<Arc<ServerClient>> {
        let owner = self.slot_map.owner(slot)?;
        let members = self.members.load();
        let member = members.iter().find(|member| member.client.number == owner)?;
        Some(Arc::clone(&member.client))
    }

    /// Sends sets to the server of their slot, following redirects.
    pub(crate) async fn submit(
        &self,
        sets: SmallVec<[EncodedSet; 1]>,
        to: SetRoute,
        until: Instant,
    ) -> Result<BatchReply, ServerError> {
        let SetRoute { slot, strict } = to;
        let (mut sets, mut asking) = (sets, false);
        let mut client = self.client(slot).ok_or_else(|| self.unserved(slot))?;
        let mut redirects = 0;
        let soon = self.context.soon(until);
        while redirects <= MAX_REDIRECTS {
            let request = QueuedRequest::new(sets, until).in_slot(slot, asking);
            let RejectedSets { failure, sets: returned } =
                match client.batcher(strict).submit(request).await {
                    Ok(reply) => return Ok(reply),
                    Err(returned) => returned,
                };
            if !failure.class.is_about_slots() || returned.is_empty() {
                // A replica may be about to take its place.
                self.context.map_stale.notify_one();
                return Err(failure);
            }
            sets = returned.into();
            match (failure.class, &failure.instead) {
                (ErrorKind::TryAgain, _) if self.context.now() + RETRY_PAUSE < soon => {
                    self.context.wait_until(self.context.now() + RETRY_PAUSE).await;
                }
                (ErrorKind::Moved | ErrorKind::Ask, Some(address)) => {
                    redirects += 1;
                    asking = failure.class == ErrorKind::Ask;
                    client = self.client_at(address)?;
                    if !asking {
                        self.slot_map.set(slot, Some(client.number));
                        self.context.map_stale.notify_one();
                    }
                    // A new server has to be reached first.
                    let reached =
                        self.context.in_time(soon, client.connectivity.wait_until_connected());
                    if reached.await.is_none() {
                        return Err(failure);
                    }
                }
                _ => {
                    self.context.map_stale.notify_one();
                    return Err(failure);
                }
            }
        }
        let why = format!("slot {slot} was redirected more than {MAX_REDIRECTS} times");
        Err(ServerError::new(ErrorKind::ClusterDown, why))
    }

    fn unserved(&self, slot: u16) -> ServerError {
        self.context.map_stale.notify_one();
        let why = match &*self.map_status.borrow() {
            Ok(()) => format!("no server serves slot {slot}"),
            Err(why) => why.clone(),
        };
        ServerError::new(ErrorKind::Down, why)
    }

    /// Returns the client of the server at this address, and creates it if it is new.
    fn client_at(&self, address: &Address) -> Result<Arc<ServerClient>, ServerError> {
        let find = |members: &[ClusterMember]| {
            let member = members.iter().find(|member| member.address == *address)?;
            Some(Arc::clone(&member.client))
        };
        if let Some(client) = find(&self.members.load()) {
            return Ok(client);
        }
        let _changing = self.changing();
        let members = self.members.load_full();
        if let Some(client) = find(&members) {
            return Ok(client);
        }
        if members.len() >= MAX_SERVERS {
            let why = format!("the cluster names more than {MAX_SERVERS} servers");
            return Err(ServerError::new(ErrorKind::ClusterDown, why));
        }
        let discovery = Discovery::At(Arc::clone(&self.connector), address.clone());
        let client = ServerClient::start(&self.context, discovery, |number| {
            Heartbeat::in_slots_of(&self.context.key_space, Arc::clone(&self.slot_map), number)
        });
        // The map update decides which of the servers the store's clock follows.
        client.batcher.set_clock_source(false);
        let member = ClusterMember {
            address: address.clone(),
            client: Arc::clone(&client),
            is_leaving: false,
        };
        self.members.store(Arc::new(members.iter().cloned().chain([member]).collect()));
        Ok(client)
    }

    /// Updates the slot map. Returns the number of unserved slots. A server that replaces another
    /// and was known as its replica has been promoted.
    fn update_map(&self, reply: &ClusterSlots, known: &[Address]) -> usize {
        let mut served = vec![None; usize::from(slot::SLOTS)];
        let mut promoted: Vec<(Address, Address)> = Vec::new();
        let before = self.members.load_full();
        for range in &reply.ranges {
            let Ok(client) = self.client_at(&range.primary) else { continue };
            let owner = self.slot_map.owner(range.first);
            let replaced = before.iter().find(|member| Some(member.client.number) == owner);
            let is_new = !before.iter().any(|member| member.address == range.primary);
            if let Some(replaced) = replaced
                && is_new
                && known.contains(&range.primary)
                && !promoted.iter().any(|(_, to)| *to == range.primary)
            {
                promoted.push((replaced.address.clone(), range.primary.clone()));
            }
            for slot in range.first..=range.last {
                served[usize::from(slot)] = Some(client.number);
            }
        }
        let answers = |owner: &u32| {
            let mut members = before.iter();
            members
                .any(|member| member.client.number == *owner && member.client.connectivity.is_up())
        };
        for (slot, owner) in (0..slot::SLOTS).zip(&served) {
            // A server missing from the new map but still up keeps its slots; if they have moved it
            // will answer MOVED.
            let owner = owner.or_else(|| self.slot_map.owner(slot).filter(answers));
            self.slot_map.set(slot, owner);
        }
        for (from, to) in promoted {
            self.context.counters.failovers.one();
            let (from, to) = (from.to_string(), to.to_string());
            self.context.emit(&Event::FailedOver { from, to });
        }
        self.remove_leaving();
        let first = self.slot_map.first();
        for member in self.members.load().iter() {
            member.client.batcher.set_clock_source(Some(member.client.number) == first);
        }
        drop(self.map_status.send_replace(Ok(())));
        let unserved = self.slot_map.count(None);
        self.context.counters.slots_unserved.set(u64::try_from(unserved).unwrap_or(u64::MAX));
        unserved
    }

    /// Removes members that serve no slot, if that was so at the last update too.
    fn remove_leaving(&self) {
        let _changing = self.changing();
        let members = self.members.load();
        let kept = members.iter().filter_map(|member| {
            let serves = self.slot_map.count(Some(member.client.number)) > 0;
            let is_kept = serves || !member.is_leaving;
            is_kept.then(|| ClusterMember { is_leaving: !serves, ..member.clone() })
        });
        let kept = Arc::new(kept.collect());
        drop(members);
        self.members.store(kept);
    }

    fn record_failure(&self, failure: &ServerError) {
        self.map_status.send_if_modified(|known| match known {
            Ok(()) => false,
            Err(why) => {
                why.clone_from(&failure.why);
                true
            }
        });
    }

    fn has_map(&self) -> bool {
        self.map_status.borrow().is_ok()
    }

    /// Whether every slot is served by a server that answers.
    pub(crate) fn is_whole(&self) -> bool {
        self.has_map()
            && self.slot_map.count(None) == 0
            && self.serving().iter().all(|member| member.client.connectivity.is_up())
    }

    /// Waits until every slot is served.
    pub(crate) async fn wait_until_connected(&self) {
        // The sender lives as long as `self`.
        let _ = self.map_status.subscribe().wait_for(Result::is_ok).await;
        for member in self.serving() {
            member.client.connectivity.wait_until_connected().await;
        }
    }

    /// Members that serve slots.
    fn serving(&self) -> Vec<ClusterMember> {
        let serves = |member: &&ClusterMember| self.slot_map.count(Some(member.client.number)) > 0;
        self.members.load().iter().filter(serves).cloned().collect()
    }

    /// The health of each serving member.
    pub(crate) fn parts(&self) -> Vec<ServerHealth> {
        let part = |member: &ClusterMember| {
            let slots = Some(self.slot_map.count(Some(member.client.number)));
            ServerHealth { slots, ..member.client.connectivity.health() }
        };
        self.serving().iter().map(part).collect()
    }

    /// Returns why not all slots are served, if that is so.
    pub(crate) fn why(&self) -> Option<String> {
        if let Err(why) = &*self.map_status.borrow() {
            return Some(why.clone());
        }
        let unserved = self.slot_map.count(None);
        (unserved > 0).then(|| format!("no server serves {unserved} slots"))
    }

    /// Removes this node from the list of each server.
    pub(crate) async fn deregister(&self) {
        let members = self.members.load_full();
        join_all(members.iter().map(|member| member.client.deregister())).await;
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> u32 {
        let nodes =
            self.members.load().iter().map(|member| member.client.connectivity.nodes()).max();
        nodes.unwrap_or(self.context.nodes)
    }

    /// The addresses of the members that answer.
    fn addresses(&self) -> Vec<Address> {
        let members = self.members.load();
        let up = members.iter().filter(|member| member.client.connectivity.is_up());
        up.map(|member| member.address.clone()).collect()
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
