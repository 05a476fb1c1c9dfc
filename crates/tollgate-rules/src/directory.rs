//! What is known of single callers: tiers, overrides, allow-lists and block-lists.
//!
//! A directory is a local replica. The rule file fills one of its own, which is swapped with the
//! rules; another is there to be filled by others while requests read it. A caller is filed under
//! the name of an identity and what that identity was found to be, a digest if it is secret.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tollgate::Time;

use crate::limits::Windows;

/// What is known of single callers.
#[derive(Debug)]
pub struct Directory {
    shards: Box<[RwLock<Shard>]>,
    hasher: RandomState,
    callers: AtomicUsize,
    /// The identities that somebody is, or was, known by.
    identities: RwLock<Vec<Box<str>>>,
}

type Shard = HashMap<Box<[u8]>, Arc<Standing>>;

/// What is known of one caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    pub(crate) tiers: Vec<Assigned>,
    pub(crate) listed: Vec<Listed>,
    pub(crate) overrides: Vec<Override>,
    /// The tiers that the caller had before, and until when: the last two changes that others made.
    pub(crate) changed: Vec<(Arc<str>, Time)>,
}

/// A stretch of time, open at either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct During {
    /// The first moment of it.
    pub from: Option<Time>,
    /// The first moment after it.
    pub until: Option<Time>,
}

/// A tier that a caller has for a time.
#[derive(Debug, Clone)]
pub(crate) struct Assigned {
    pub(crate) tier: Arc<str>,
    pub(crate) during: During,
}

/// When a caller's tier last changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) before: Arc<str>,
    pub(crate) at: Time,
    /// When it had changed before that.
    pub(crate) again: Option<Time>,
}

/// Whether a caller is let through or kept out whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// No rule applies.
    Allow,
    /// Always refused.
    Block,
}

#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) listing: Listing,
    pub(crate) during: During,
}

/// Other limits than the rule's, for one caller.
#[derive(Debug, Clone)]
pub(crate) struct Override {
    pub(crate) rule: Box<str>,
    pub(crate) windows: Arc<Windows>,
    pub(crate) during: During,
}

impl During {
    /// Whether a moment lies in it.
    pub fn contains(&self, now: Time) -> bool {
        self.from.is_none_or(|from| from <= now) && self.until.is_none_or(|until| now < until)
    }
}

impl Assigned {
    /// A tier without end.
    pub(crate) fn always(tier: Arc<str>) -> Self {
        Self { tier, during: During::default() }
    }
}

impl Standing {
    /// Notes that the caller had another tier until now.
    pub(crate) fn note_change(&mut self, before: Arc<str>, now: Time) {
        self.changed.push((before, now));
        // Of changes before the last it is enough to know that there was one.
        let old = self.changed.len().saturating_sub(2);
        self.changed.drain(..old);
    }

    /// Whether there is nothing to know but changes, and those are over.
    fn is_over(&self, over: Time) -> bool {
        let nothing = self.tiers.is_empty() && self.listed.is_empty() && self.overrides.is_empty();
        nothing && self.changed.iter().all(|(_, at)| *at <= over)
    }

    pub(crate) fn tier_at(&self, now: Time) -> Option<&Assigned> {
        // The last word counts: what is added for a time stands behind what was there.
        self.tiers.iter().rev().find(|assigned| assigned.during.contains(now))
    }

    /// The last change of the caller's tier up to `now`: one that files or others made, or a tier
    /// for a time that has begun or ended. `default` is the tier of those who have none.
    pub(crate) fn change_before(&self, now: Time, default: &Arc<str>) -> Option<Change> {
        let tier_at = |time| self.tier_at(time).map_or(default, |assigned| &assigned.tier);
        let edges = self.tiers.iter().flat_map(|one| [one.during.from, one.during.until]).flatten();
        let crossed =
            edges.filter(|edge| *edge <= now && edge.as_micros() > 0).filter_map(|edge| {
                let before = tier_at(Time::from_micros(edge.as_micros() - 1));
                (before != tier_at(edge)).then(|| (before.clone(), edge))
            });
        let mut changes: Vec<(Arc<str>, Time)> = crossed.chain(self.changed.clone()).collect();
        changes.sort_by_key(|(_, at)| *at);
        let (before, at) = changes.pop()?;
        let again = changes.pop().map(|(_, at)| at);
        Some(Change { before, at, again })
    }

    pub(crate) fn listing_at(&self, now: Time) -> Option<Listing> {
        let mut listed = self.listed.iter().filter(|listed| listed.during.contains(now));
        let first = listed.next()?.listing;
        // Who is on both lists is kept out.
        let blocked =
            first == Listing::Block || listed.any(|other| other.listing == Listing::Block);
        Some(if blocked { Listing::Block } else { Listing::Allow })
    }

    pub(crate) fn override_at(&self, rule: &str, now: Time) -> Option<&Arc<Windows>> {
        let fitting = |one: &&Override| &*one.rule == rule && one.during.contains(now);
        self.overrides.iter().rev().find(fitting).map(|one| &one.windows)
    }
}

impl Default for Directory {
    fn default() -> Self {
        Self::new()
    }
}

impl Directory {
    /// Enough that threads seldom meet at one.
    const SHARDS: usize = 64;

    /// A directory in which nobody is known.
    pub fn new() -> Self {
        Self {
            shards: (0..Self::SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::new(),
            callers: AtomicUsize::new(0),
            identities: RwLock::default(),
        }
    }

    /// How many callers are known.
    pub fn len(&self) -> usize {
        self.callers.load(Ordering::Relaxed)
    }

    /// Whether nobody is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether anybody may be known by this identity: if not, there is no need to look.
    pub(crate) fn knows(&self, identity: &str) -> bool {
        !self.is_empty() && self.names(identity)
    }

    /// Whether somebody has been known by this identity.
    pub(crate) fn names(&self, identity: &str) -> bool {
        let names = self.identities.read().unwrap_or_else(PoisonError::into_inner);
        names.iter().any(|name| &**name == identity)
    }

    pub(crate) fn get(&self, identity: &str, subject: &[u8]) -> Option<Arc<Standing>> {
        if self.is_empty() {
            return None;
        }
        let name = filed(identity, subject);
        self.shard(&name).read().unwrap_or_else(PoisonError::into_inner).get(&*name).cloned()
    }

    /// Changes what is known of a caller; a caller of whom nothing is known any more is dropped.
    pub(crate) fn change(
        &self,
        identity: &str,
        subject: &[u8],
        change: impl FnOnce(&mut Standing),
    ) {
        if !self.names(identity) {
            let mut names = self.identities.write().unwrap_or_else(PoisonError::into_inner);
            names.push(identity.into());
        }
        let name = filed(identity, subject);
        let mut shard = self.shard(&name).write().unwrap_or_else(PoisonError::into_inner);
        let mut standing =
            shard.get(&*name).map(|known| Standing::clone(known)).unwrap_or_default();
        change(&mut standing);
        let known = !standing.is_over(Time::EPOCH);
        let before = if known {
            shard.insert(name.into_vec().into(), Arc::new(standing)).is_some()
        } else {
            shard.remove(&*name).is_some()
        };
        match (before, known) {
            (false, true) => _ = self.callers.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = self.callers.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Drops callers of whom only changes are known that were made up to `over`.
    pub(crate) fn prune(&self, over: Time) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let before = shard.len();
            shard.retain(|_, standing| !standing.is_over(over));
            self.callers.fetch_sub(before - shard.len(), Ordering::Relaxed);
        }
    }

    /// Everybody who is known.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u8], &Arc<Standing>)) {
        for shard in &self.shards {
            for (name, standing) in &*shard.read().unwrap_or_else(PoisonError::into_inner) {
                visit(name, standing);
            }
        }
    }

    /// What is known under a name that [`each`](Self::each) handed out.
    pub(crate) fn get_filed(&self, name: &[u8]) -> Option<Arc<Standing>> {
        self.shard(name).read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Says what is known under a name that [`each`](Self::each) handed out.
    pub(crate) fn put_filed(&self, name: &[u8], standing: Standing) {
        let mut shard = self.shard(name).write().unwrap_or_else(PoisonError::into_inner);
        if shard.insert(name.into(), Arc::new(standing)).is_none() {
            self.callers.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn shard(&self, name: &[u8]) -> &RwLock<Shard> {
        let hash = usize::try_from(self.hasher.hash_one(name) >> 32).unwrap_or(0);
        &self.shards[hash % Self::SHARDS]
    }
}

type Filed = smallvec::SmallVec<[u8; 96]>;

/// The name a caller is filed under.
fn filed(identity: &str, subject: &[u8]) -> Filed {
    let mut name = Filed::new();
    tollgate::Key::append(&mut name, identity.as_bytes());
    name.extend_from_slice(subject);
    name
}
