//! The directory of callers: their tiers, overrides, and allow-list and block-list entries.
//!
//! A directory is a local replica. The rule file fills one of its own, which is swapped with the
//! rules; a second one is changed at run time while requests read it. The key of a caller is the
//! name of an identity and the value of that identity, as a digest if it is secret.

mod caller;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use sluicegate::Time;

pub(crate) use self::caller::{Assigned, CallerRecord, ListEntry, Override, TierChange};

/// A concurrent map of the records of callers.
#[derive(Debug)]
pub struct Directory {
    shards: Box<[RwLock<Shard>]>,
    hasher: RandomState,
    callers: AtomicUsize,
    /// The identities that callers have, or had, records under.
    identities: RwLock<Vec<Box<str>>>,
}

type Shard = HashMap<Box<[u8]>, Arc<CallerRecord>>;

/// A range of time, optionally unbounded at either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRange {
    /// The start, inclusive.
    pub from: Option<Time>,
    /// The end, exclusive.
    pub until: Option<Time>,
}

/// A list that overrides the rules for a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// The caller is always allowed; no rule applies.
    Allow,
    /// The caller is always refused.
    Block,
}

impl TimeRange {
    /// Whether the range contains a moment.
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
    /// Enough shards that threads seldom contend for one.
    const SHARDS: usize = 64;

    /// Creates an empty directory.
    pub fn new() -> Self {
        Self {
            shards: (0..Self::SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::new(),
            callers: AtomicUsize::new(0),
            identities: RwLock::default(),
        }
    }

    /// The number of callers with a record.
    pub fn len(&self) -> usize {
        self.callers.load(Ordering::Relaxed)
    }

    /// Whether no caller has a record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether callers may have records under this identity; if not, lookups can be skipped.
    pub(crate) fn knows(&self, identity: &str) -> bool {
        !self.is_empty() && self.names(identity)
    }

    /// Whether any caller has ever had a record under this identity.
    pub(crate) fn names(&self, identity: &str) -> bool {
        let names = self.identities.read().unwrap_or_else(PoisonError::into_inner);
        names.iter().any(|name| &**name == identity)
    }

    pub(crate) fn get(&self, identity: &str, subject: &[u8]) -> Option<Arc<CallerRecord>> {
        if self.is_empty() {
            return None;
        }
        let name = filed(identity, subject);
        self.shard(&name).read().unwrap_or_else(PoisonError::into_inner).get(&*name).cloned()
    }

    /// Changes the record of a caller, and removes it if it is empty afterwards.
    pub(crate) fn change(
        &self,
        identity: &str,
        subject: &[u8],
        change: impl FnOnce(&mut CallerRecord),
    ) {
        if !self.names(identity) {
            let mut names = self.identities.write().unwrap_or_else(PoisonError::into_inner);
            names.push(identity.into());
        }
        let name = filed(identity, subject);
        let mut shard = self.shard(&name).write().unwrap_or_else(PoisonError::into_inner);
        let mut record =
            shard.get(&*name).map(|known| CallerRecord::clone(known)).unwrap_or_default();
        change(&mut record);
        let known = !record.is_over(Time::EPOCH);
        let before = if known {
            shard.insert(name.into_vec().into(), Arc::new(record)).is_some()
        } else {
            shard.remove(&*name).is_some()
        };
        match (before, known) {
            (false, true) => _ = self.callers.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = self.callers.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Removes records that contain nothing but changes made up to `over`.
    pub(crate) fn prune(&self, over: Time) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let before = shard.len();
            shard.retain(|_, record| !record.is_over(over));
            self.callers.fetch_sub(before - shard.len(), Ordering::Relaxed);
        }
    }

    /// Visits every record.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u8], &Arc<CallerRecord>)) {
        for shard in &self.shards {
            for (name, record) in &*shard.read().unwrap_or_else(PoisonError::into_inner) {
                visit(name, record);
            }
        }
    }

    /// The record under a key that [`each`](Self::each) has passed.
    pub(crate) fn get_indexed(&self, name: &[u8]) -> Option<Arc<CallerRecord>> {
        self.shard(name).read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Stores a record under a key that [`each`](Self::each) has passed.
    pub(crate) fn put_indexed(&self, name: &[u8], record: CallerRecord) {
        let mut shard = self.shard(name).write().unwrap_or_else(PoisonError::into_inner);
        if shard.insert(name.into(), Arc::new(record)).is_none() {
            self.callers.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn shard(&self, name: &[u8]) -> &RwLock<Shard> {
        let hash = usize::try_from(self.hasher.hash_one(name) >> 32).unwrap_or(0);
        &self.shards[hash % Self::SHARDS]
    }
}

type IndexedCallers = smallvec::SmallVec<[u8; 96]>;

/// The key of a caller's record.
fn filed(identity: &str, subject: &[u8]) -> IndexedCallers {
    let mut name = IndexedCallers::new();
    sluicegate::Key::append(&mut name, identity.as_bytes());
    name.extend_from_slice(subject);
    name
}
