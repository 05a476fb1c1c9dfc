//! What is known of single callers: tiers, overrides, allow-lists and block-lists.
//!
//! A directory is a local replica. The rule file fills one of its own, which is swapped with the
//! rules; another is there to be filled by others while requests read it. A caller is filed under
//! the name of an identity and what that identity was found to be, a digest if it is secret.

mod standing;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use sluicegate::Time;

pub(crate) use self::standing::{Assigned, Change, Listed, Override, Standing};

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

/// A stretch of time, open at either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct During {
    /// The first moment of it.
    pub from: Option<Time>,
    /// The first moment after it.
    pub until: Option<Time>,
}

/// Whether a caller is let through or kept out whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// No rule applies.
    Allow,
    /// Always refused.
    Block,
}

impl During {
    /// Whether a moment lies in it.
    pub fn contains(&self, now: Time) -> bool {
        self.from.is_none_or(|from| from <= now) && self.until.is_none_or(|until| now < until)
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
    sluicegate::Key::append(&mut name, identity.as_bytes());
    name.extend_from_slice(subject);
    name
}
