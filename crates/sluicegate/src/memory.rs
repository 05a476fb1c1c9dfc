//! The memory store: one cache line per check, about 27 bytes per caller, bounded memory.
//!
//! A counter is a [`word`] of 64 bits under a [`fingerprint`] of 64 bits. Four counters fill one
//! cache line; a check reads one line, decides, and writes the word by one compare-and-swap. A
//! refusal writes nothing. [Sets](apply_set) of present buckets read all their words, decide, then
//! lock the words in the order of their fingerprints and write; other sets lock first. A state that
//! does not fit a word is kept in the [overflow arena](overflow), and the word points to it.
//!
//! The [`table`] grows by one [page](page_state) of 128 KiB, by [splitting](split) a full one. At
//! its memory limit the store [evicts](eviction) the least valuable counters.

mod apply_set;
mod directory;
mod eviction;
mod fingerprint;
mod insert;
mod options;
mod overflow;
mod page_state;
mod pages;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod siphash;
mod snapshot;
mod split;
mod sync;
mod system_memory;
mod table;
mod word;

use std::future::{Future, ready};

use sluicegate_core::{ChargeId, Check, Decision, Set, Time, decide_buckets};

pub use self::options::{MemoryError, MemoryOptions};
pub use self::snapshot::{
    Autosave, RestoreReport, SaveReport, SnapshotReadError, SnapshotWriteError,
};

use self::eviction::EvictionWeight;
use self::fingerprint::{Fingerprint, HashKey};
use self::overflow::OverflowArena;
use self::sync::{AtomicU64, Relaxed};
use self::table::{FoundCell, Table};
use self::word::{Epoch, Word};
use crate::clock::{Clock, SystemClock};
use crate::error::CheckError;
use crate::store::{Applied, Batch, Store, SyncStore};

/// A store in this process's memory, with its own clock and a bound in bytes.
///
/// ```
/// use sluicegate::{Check, Limit, Limiter, MemoryOptions};
///
/// let limiter = Limiter::new(MemoryOptions::new().max_bytes(64 << 20).build()?);
/// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
/// assert!(limiter.check(Check::new(&limit, "user:42")).now()?.is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Memory<C = SystemClock> {
    table: Table,
    records: OverflowArena,
    key: HashKey,
    epoch: Epoch,
    max_bytes: usize,
    forgotten: AtomicU64,
    clock: C,
}

impl Memory {
    /// Creates an empty store on the system clock.
    ///
    /// It uses up to a quarter of the machine's memory.
    pub fn new() -> Self {
        Self::with_clock(SystemClock::new())
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock> Memory<C> {
    /// Creates an empty store on another clock.
    pub fn with_clock(clock: C) -> Self {
        MemoryOptions::new().build_keyed(clock, HashKey::random())
    }

    /// Returns the number of counters, including recovered ones that are not evicted yet.
    pub fn len(&self) -> usize {
        let pages = (0..self.table.page_count()).map(|page| self.table.slab.page(page));
        pages.map(|page| usize::try_from(page.used()).unwrap_or(usize::MAX)).sum()
    }

    /// Returns whether the store has no counters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes used by counters.
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.records.bytes()
    }

    /// Returns the most bytes that counters may use.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Returns how many counters were evicted before they had recovered.
    ///
    /// Each eviction gave its caller a fresh counter early. More memory would have kept them.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Relaxed)
    }

    /// Decides one set.
    ///
    /// `decisions` has one element for each check of the set.
    pub fn decide(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Applied {
        let quickly = match set.checks() {
            [check] if check.takes_from_bucket() => self
                .decide_bucket(set, self.key.counter(check), decisions)
                .or_else(|| self.decide_recorded(set, decisions)),
            [_] => self.decide_recorded(set, decisions),
            _ => self.decide_words(set, decisions),
        };
        quickly.unwrap_or_else(|| self.decide_set(set, decisions))
    }

    /// Decides a take on one bucket that fits its word, the most common request.
    ///
    /// `None` if it needs the general path.
    #[inline(always)]
    fn decide_bucket(
        &self,
        set: &Set<'_>,
        name: Fingerprint,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        loop {
            let Some(FoundCell { cell, word }) = self.table.find(name) else {
                return self.insert_and_decide(set, name, decisions);
            };
            let full_at = word.full_at(self.epoch)?;
            // Read after the word: time never goes back for a counter.
            let now = self.clock.now();
            let mut after = [full_at];
            let ruling = decide_buckets(set, now, &mut after, decisions)?;
            // A refusal only reads. A word that is unchanged belonged to this key when it was
            // read, because a cell is not reused without changing it.
            let unchanged = if after == [full_at] {
                cell.word() == word
            } else {
                cell.swap(word, word.with_full_at(after[0], self.epoch)?)
            };
            if unchanged {
                return Some(Applied::by_store(ruling, now));
            }
        }
    }

    /// Decides the sets of a batch one after the other, after prefetching their memory.
    ///
    /// With many counters, memory latency is most of the cost of a check.
    fn decide_batch(&self, batch: &mut Batch<'_>) {
        let (sets, _) = batch.undecided();
        let (mut names, mut index) = ([None; PREFETCHED], 0);
        batch.decide_each(|set, decisions| {
            if index % PREFETCHED == 0 {
                names = [None; PREFETCHED];
                for (set, name) in sets[index..].iter().zip(&mut names) {
                    *name = set.checks().first().map(|check| self.key.counter(check));
                }
                self.table.fetch(&names);
            }
            let single = names[index % PREFETCHED].filter(|_| is_single_bucket(set));
            index += 1;
            let applied = single.and_then(|name| self.decide_bucket(set, name, decisions));
            applied.unwrap_or_else(|| self.decide(set, decisions))
        });
    }

    fn weights(&self, now: Time) -> EvictionWeight<'_> {
        EvictionWeight::new(now, self.epoch, &self.records)
    }

    /// Counts a counter as evicted, and frees its record.
    fn count_evicted(&self, word: Word) {
        self.forgotten.fetch_add(1, Relaxed);
        if let Some(record) = word.record() {
            self.records.free(record);
        }
    }

    /// Evicts records until their bytes are within bounds, for a limited number of tries.
    fn enforce_bounds(&self, now: Time) {
        for _ in 0..EVICTION_TRIES {
            if self.bytes() <= self.max_bytes {
                return;
            }
            if let Some(name) = self.records.least(EVICTION_CANDIDATES, now) {
                self.evict(name, now);
            }
        }
    }

    /// Evicts a counter that has a record, unless another thread has locked it.
    fn evict(&self, name: Fingerprint, now: Time) {
        let Some(FoundCell { cell, word }) = self.table.find(name) else { return };
        let Some(record) = word.record() else { return };
        if !cell.lock(word) {
            return;
        }
        if self.records.share(record, now) > 0 {
            self.forgotten.fetch_add(1, Relaxed);
        }
        self.records.free(record);
        cell.unlock(word.vacated());
    }
}

/// About as many as a processor fetches from memory in parallel, and a few more.
const PREFETCHED: usize = 16;
/// The number of records compared to find the least valuable one.
const EVICTION_CANDIDATES: usize = 8;
/// Each check that adds to the records frees as much as it added, and a little more.
const EVICTION_TRIES: usize = 4;

/// Returns whether a set is a take on one bucket.
#[inline]
fn is_single_bucket(set: &Set<'_>) -> bool {
    matches!(set.checks(), [check] if check.takes_from_bucket())
}

impl<C: Clock> Store for Memory<C> {
    type Clock = C;

    fn clock(&self) -> &C {
        &self.clock
    }

    fn apply(&self, batch: &mut Batch<'_>) -> impl Future<Output = Result<(), CheckError>> + Send {
        self.try_apply(batch);
        ready(Ok(()))
    }

    #[inline(always)]
    fn try_apply(&self, batch: &mut Batch<'_>) {
        match batch.undecided() {
            // A single set has nothing to be prefetched with.
            ([set], decisions) => {
                let applied = self.decide(set, decisions);
                batch.push(applied);
            }
            _ => self.decide_batch(batch),
        }
    }

    #[inline(always)]
    fn try_apply_one(&self, set: &Set<'_>) -> Option<(Applied, Decision)> {
        let check = set.checks().first().filter(|_| is_single_bucket(set))?;
        let mut made = [None];
        let applied = self.decide_bucket(set, self.key.counter(check), &mut made)?;
        Some((applied, made[0]?))
    }

    fn apply_detached(&self, check: Check<'_>) {
        // Only receipts are settled this way, and those have their own id.
        self.decide(&Set::one(&check, ChargeId::from_bits(0)), &mut [None]);
    }
}

impl<C: Clock> SyncStore for Memory<C> {}
