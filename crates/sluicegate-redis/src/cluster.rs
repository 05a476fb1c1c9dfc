//! A cluster: which of its servers serves which slot, and asking whichever that is.

mod chart;
pub(crate) mod slot;
mod survey;
mod surveyor;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use smallvec::SmallVec;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) use self::chart::Chart;
use self::survey::Survey;
use self::surveyor::Surveyor;
use crate::address::Address;
use crate::common::Common;
use crate::connection::Connector;
use crate::courier::{Letter, Reply, Returned};
use crate::event::{Event, Part};
use crate::failure::{Class, Failure};
use crate::heartbeat::Heartbeat;
use crate::link::Link;
use crate::servers::To;
use crate::twin::Packed;
use crate::whereabouts::Whereabouts;

/// How often one question is sent on. Servers that disagree could send it round for ever.
const REDIRECTS: usize = 5;
/// Until a slot whose keys are here and there is asked for again.
const AGAIN: Duration = Duration::from_millis(1);
/// More servers than a cluster of a reasonable size has: a map is not to make us connect to the world.
const MOST_LINKS: usize = 1_000;

/// A cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    common: Arc<Common>,
    connector: Arc<Connector>,
    chart: Arc<Chart>,
    members: ArcSwap<Vec<Member>>,
    /// Held while a member is added or taken out.
    changing: Mutex<()>,
    surveyed: watch::Sender<Result<(), String>>,
}

/// A server that serves slots, or did.
#[derive(Debug, Clone)]
struct Member {
    address: Address,
    link: Arc<Link>,
    /// Not named in the last map: once more, and it is taken out.
    is_leaving: bool,
}

/// A cluster in use: as long as this lives, its map is kept.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) cluster: Arc<Cluster>,
    surveyor: JoinHandle<()>,
}

impl Surveyed {
    pub(crate) fn start(common: &Arc<Common>, connector: Connector, seeds: Vec<Address>) -> Self {
        let connector = Arc::new(connector);
        let why = String::from("its map is not known yet");
        let cluster = Arc::new(Cluster {
            common: Arc::clone(common),
            connector: Arc::clone(&connector),
            chart: Arc::new(Chart::new()),
            members: ArcSwap::default(),
            changing: Mutex::default(),
            surveyed: watch::Sender::new(Err(why)),
        });
        let surveyor = Surveyor { cluster: Arc::clone(&cluster), connector, seeds };
        Self { cluster, surveyor: common.handle.spawn(surveyor.survey()) }
    }
}

impl Drop for Surveyed {
    fn drop(&mut self) {
        self.surveyor.abort();
    }
}

impl Cluster {
    /// The link that serves a slot.
    pub(crate) fn link(&self, slot: u16) -> Option<Arc<Link>> {
        let owner = self.chart.owner(slot)?;
        let members = self.members.load();
        let member = members.iter().find(|member| member.link.number == owner)?;
        Some(Arc::clone(&member.link))
    }

    /// Asks whoever serves a slot about sets in it, following where it is sent.
    pub(crate) async fn ask(
        &self,
        sets: SmallVec<[Packed; 1]>,
        to: To,
        until: Instant,
    ) -> Result<Reply, Failure> {
        let To { slot, strict } = to;
        let (mut sets, mut asking) = (sets, false);
        let mut link = self.link(slot).ok_or_else(|| self.unserved(slot))?;
        let mut redirects = 0;
        let soon = self.common.soon(until);
        while redirects <= REDIRECTS {
            let letter = Letter::new(sets, until).in_slot(slot, asking);
            let Returned { failure, sets: returned } = match link.courier(strict).ask(letter).await
            {
                Ok(reply) => return Ok(reply),
                Err(returned) => returned,
            };
            if !failure.class.is_about_slots() || returned.is_empty() {
                // Another may be about to take its place.
                self.common.doubted.notify_one();
                return Err(failure);
            }
            sets = returned.into();
            match (failure.class, &failure.instead) {
                (Class::TryAgain, _) if self.common.now() + AGAIN < soon => {
                    self.common.wait_until(self.common.now() + AGAIN).await;
                }
                (Class::Moved | Class::Asked, Some(address)) => {
                    redirects += 1;
                    asking = failure.class == Class::Asked;
                    link = self.link_at(address)?;
                    if !asking {
                        self.chart.set(slot, Some(link.number));
                        self.common.doubted.notify_one();
                    }
                    // One that was never met before has to be reached first.
                    let reached = self.common.in_time(soon, link.condition.reached());
                    if reached.await.is_none() {
                        return Err(failure);
                    }
                }
                _ => {
                    self.common.doubted.notify_one();
                    return Err(failure);
                }
            }
        }
        let why = format!("slot {slot} was sent on more than {REDIRECTS} times");
        Err(Failure::new(Class::ClusterDown, why))
    }

    fn unserved(&self, slot: u16) -> Failure {
        self.common.doubted.notify_one();
        let why = match &*self.surveyed.borrow() {
            Ok(()) => format!("no server serves slot {slot}"),
            Err(why) => why.clone(),
        };
        Failure::new(Class::Down, why)
    }

    /// The link to the server at this address, which begins now if it was not known.
    fn link_at(&self, address: &Address) -> Result<Arc<Link>, Failure> {
        let find = |members: &[Member]| {
            let member = members.iter().find(|member| member.address == *address)?;
            Some(Arc::clone(&member.link))
        };
        if let Some(link) = find(&self.members.load()) {
            return Ok(link);
        }
        let _changing = self.changing();
        let members = self.members.load_full();
        if let Some(link) = find(&members) {
            return Ok(link);
        }
        if members.len() >= MOST_LINKS {
            let why = format!("the cluster names more than {MOST_LINKS} servers");
            return Err(Failure::new(Class::ClusterDown, why));
        }
        let whereabouts = Whereabouts::At(Arc::clone(&self.connector), address.clone());
        let link = Link::start(&self.common, whereabouts, |number| {
            Heartbeat::in_slots_of(&self.common.naming, Arc::clone(&self.chart), number)
        });
        // Which of them the store's clock goes by is decided when the map is drawn.
        link.courier.set_tells_time(false);
        let member =
            Member { address: address.clone(), link: Arc::clone(&link), is_leaving: false };
        self.members.store(Arc::new(members.iter().cloned().chain([member]).collect()));
        Ok(link)
    }

    /// Brings the map up to date; how many slots nobody serves. Who takes the place of another and
    /// was known as a replica has been promoted.
    fn draw(&self, survey: &Survey, known: &[Address]) -> usize {
        let mut served = vec![None; usize::from(slot::SLOTS)];
        let mut promoted: Vec<(Address, Address)> = Vec::new();
        let before = self.members.load_full();
        for range in &survey.ranges {
            let Ok(link) = self.link_at(&range.primary) else { continue };
            let owner = self.chart.owner(range.first);
            let replaced = before.iter().find(|member| Some(member.link.number) == owner);
            let is_new = !before.iter().any(|member| member.address == range.primary);
            if let Some(replaced) = replaced
                && is_new
                && known.contains(&range.primary)
                && !promoted.iter().any(|(_, to)| *to == range.primary)
            {
                promoted.push((replaced.address.clone(), range.primary.clone()));
            }
            for slot in range.first..=range.last {
                if let Some(place) = served.get_mut(usize::from(slot)) {
                    *place = Some(link.number);
                }
            }
        }
        let answers = |owner: &u32| {
            let mut members = before.iter();
            members.any(|member| member.link.number == *owner && member.link.condition.is_up())
        };
        for (slot, owner) in (0..slot::SLOTS).zip(&served) {
            // Who is named by nobody any more, and answers, says itself what is to become of it.
            let owner = owner.or_else(|| self.chart.owner(slot).filter(answers));
            self.chart.set(slot, owner);
        }
        for (from, to) in promoted {
            self.common.counters.failovers.one();
            let (from, to) = (from.to_string(), to.to_string());
            self.common.tell(&Event::FailedOver { from, to });
        }
        self.take_out_leaving();
        let first = self.chart.first();
        for member in self.members.load().iter() {
            member.link.courier.set_tells_time(Some(member.link.number) == first);
        }
        drop(self.surveyed.send_replace(Ok(())));
        let unserved = self.chart.count(None);
        self.common.counters.slots_unserved.set(u64::try_from(unserved).unwrap_or(u64::MAX));
        unserved
    }

    /// Takes out who serves nothing any more, if that was so the last time too.
    fn take_out_leaving(&self) {
        let _changing = self.changing();
        let members = self.members.load();
        let stay = members.iter().filter_map(|member| {
            let serves = self.chart.count(Some(member.link.number)) > 0;
            let stays = serves || !member.is_leaving;
            stays.then(|| Member { is_leaving: !serves, ..member.clone() })
        });
        let stay = Arc::new(stay.collect());
        drop(members);
        self.members.store(stay);
    }

    fn not_surveyed(&self, failure: &Failure) {
        self.surveyed.send_if_modified(|known| match known {
            Ok(()) => false,
            Err(why) => {
                why.clone_from(&failure.why);
                true
            }
        });
    }

    fn is_surveyed(&self) -> bool {
        self.surveyed.borrow().is_ok()
    }

    /// Whether every slot is served by somebody who answers.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_surveyed()
            && self.chart.count(None) == 0
            && self.serving().iter().all(|member| member.link.condition.is_up())
    }

    /// Waits until it is.
    pub(crate) async fn reached(&self) {
        // Whoever tells lives as long as this does.
        let _ = self.surveyed.subscribe().wait_for(Result::is_ok).await;
        for member in self.serving() {
            member.link.condition.reached().await;
        }
    }

    /// Those who serve slots.
    fn serving(&self) -> Vec<Member> {
        let serves = |member: &&Member| self.chart.count(Some(member.link.number)) > 0;
        self.members.load().iter().filter(serves).cloned().collect()
    }

    /// How each of them is doing.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let part = |member: &Member| {
            let slots = Some(self.chart.count(Some(member.link.number)));
            Part { slots, ..member.link.condition.part() }
        };
        self.serving().iter().map(part).collect()
    }

    /// Why not all slots are served, if that is so.
    pub(crate) fn why(&self) -> Option<String> {
        if let Err(why) = &*self.surveyed.borrow() {
            return Some(why.clone());
        }
        let unserved = self.chart.count(None);
        (unserved > 0).then(|| format!("{unserved} slots are served by nobody"))
    }

    /// Takes this node off the list of each server.
    pub(crate) async fn deregister(&self) {
        let members = self.members.load_full();
        join_all(members.iter().map(|member| member.link.deregister())).await;
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> u32 {
        let nodes = self.members.load().iter().map(|member| member.link.condition.nodes()).max();
        nodes.unwrap_or(self.common.nodes)
    }

    /// Where those are that answer.
    fn addresses(&self) -> Vec<Address> {
        let members = self.members.load();
        let up = members.iter().filter(|member| member.link.condition.is_up());
        up.map(|member| member.address.clone()).collect()
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
