//! The store in memory: one line of the processor's cache for a check, forty bytes for a caller,
//! and never more memory than it was given.
//!
//! A counter is a [word](word) of 64 bits under a [fingerprint](hash) of 64 bits. Four of them
//! fill one cache line; a check reads one such line, decides, and writes the word by one
//! compare-and-swap, or does not write at all if it refuses. [Sets](desk) read all their words,
//! decide, then lock the words in the order of their fingerprints and write. What does not fit a
//! word is in a [record](records) that the word points to.
//!
//! The [table](table) grows a [page](page) of 128 KiB at a time, by [dividing](divide) one that is
//! full. When it may grow no further, counters that matter least are [forgotten](forget).

mod desk;
mod directory;
mod divide;
#[cfg(all(test, shuttle))]
mod explored;
mod forget;
mod hash;
mod machine;
mod newcomer;
mod options;
mod page;
mod records;
mod siphash;
mod slab;
mod snapshot;
mod sync;
mod table;
mod word;

use std::future::{Future, ready};

use sluicegate_core::{Check, Decision, Id, Ruling, Set, Time, decide_alone};

pub use self::options::{MemoryError, MemoryOptions};
pub use self::snapshot::{Keeper, Restored, Saved, SnapshotError, SnapshotFault};

use self::forget::Scales;
use self::hash::{Fingerprint, HashKey};
use self::records::Records;
use self::sync::{AtomicU64, Relaxed};
use self::table::{Found, Table};
use self::word::{Epoch, Word};
use crate::clock::{Clock, SystemClock};
use crate::error::CheckError;
use crate::store::{Applied, Immediate, Store};

/// State in the memory of this process, under its own clock, within a bound in bytes.
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
    records: Records,
    key: HashKey,
    epoch: Epoch,
    max_bytes: usize,
    forgotten: AtomicU64,
    clock: C,
}

impl Memory {
    /// An empty store under the machine's clock, which takes up to a quarter of the machine's
    /// memory.
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
    /// An empty store under another clock.
    pub fn with_clock(clock: C) -> Self {
        MemoryOptions::new().build_keyed(clock, HashKey::random())
    }

    /// How many counters are kept, including ones that have recovered and whose place nobody
    /// has needed yet.
    pub fn len(&self) -> usize {
        let pages = (0..self.table.page_count()).map(|page| self.table.slab.page(page));
        pages.map(|page| usize::try_from(page.used()).unwrap_or(usize::MAX)).sum()
    }

    /// Whether no counter is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that counters take up.
    pub fn bytes(&self) -> usize {
        self.table.bytes() + self.records.bytes()
    }

    /// The most bytes that counters may take up.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// How many counters were forgotten, for want of memory, while they still mattered: each
    /// let its caller start afresh before its time. More memory would have kept them.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Relaxed)
    }

    fn decide(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Applied {
        let quickly = match set.checks() {
            [check] if check.takes_from_bucket() => match self.decide_alone(set) {
                Some((applied, decision)) => {
                    decisions[0] = Some(decision);
                    Some(applied)
                }
                None => self.decide_recorded(set, decisions),
            },
            [_] => self.decide_recorded(set, decisions),
            _ => self.decide_together(set, decisions),
        };
        quickly.unwrap_or_else(|| self.decide_set(set, decisions))
    }

    /// Decides a take on one bucket that fits its word: what nearly every request asks for. `None` if
    /// it is anything else.
    #[inline(always)]
    fn decide_alone(&self, set: &Set<'_>) -> Option<(Applied, Decision)> {
        self.decide_named(set, self.lone_name(set)?)
    }

    /// The counter of a set that is a take on one bucket.
    #[inline(always)]
    fn lone_name(&self, set: &Set<'_>) -> Option<Fingerprint> {
        let [check] = set.checks() else { return None };
        check.takes_from_bucket().then(|| self.key.counter(check))
    }

    #[inline(always)]
    fn decide_named(&self, set: &Set<'_>, name: Fingerprint) -> Option<(Applied, Decision)> {
        loop {
            let Some(Found { cell, word }) = self.table.find(name) else {
                return self.decide_newcomer(set, name);
            };
            let full_at = word.full_at(self.epoch)?;
            // Read after the word: time never goes back for a counter.
            let now = self.clock.now();
            let alone = decide_alone(set, now, full_at)?;
            // A refusal only reads. A word that stands was this key's when it was read: a cell
            // does not change hands without it.
            let stands = if alone.full_at == full_at {
                cell.word() == word
            } else {
                cell.swap(word, word.with_full_at(alone.full_at, self.epoch)?)
            };
            if stands {
                return Some((Applied::by_store(alone.ruling, now), alone.decision));
            }
        }
    }

    /// Decides sets one after the other, having fetched what their first checks need from memory
    /// all at once: fetching is most of what a check costs when there are many counters.
    fn decide_each(
        &self,
        sets: &[Set<'_>],
        mut decisions: &mut [Option<Decision>],
        applied: &mut Vec<Applied>,
    ) {
        for sets in sets.chunks(FETCHED_TOGETHER) {
            let mut names = [None; FETCHED_TOGETHER];
            for (set, name) in sets.iter().zip(&mut names) {
                *name = set.checks().first().map(|check| self.key.counter(check));
            }
            self.table.fetch(&names);
            for set in sets {
                let (own, rest) = decisions.split_at_mut(set.checks().len());
                decisions = rest;
                applied.push(self.decide(set, own));
            }
        }
    }

    /// The same for sets of one check each; how many could be decided.
    fn decide_each_alone(&self, sets: &[Set<'_>], decisions: &mut Vec<Decision>) -> usize {
        let before = decisions.len();
        for sets in sets.chunks(FETCHED_TOGETHER) {
            let mut names = [None; FETCHED_TOGETHER];
            for (set, name) in sets.iter().zip(&mut names) {
                *name = self.lone_name(set);
            }
            self.table.fetch(&names);
            for (set, name) in sets.iter().zip(names) {
                if let Some((_, decision)) = name.and_then(|name| self.decide_named(set, name)) {
                    decisions.push(decision);
                    continue;
                }
                let mut own = [None];
                match (self.decide(set, &mut own).ruling, own) {
                    (Ruling::Admitted | Ruling::Refused, [Some(decision)]) => {
                        decisions.push(decision);
                    }
                    _ => return decisions.len() - before,
                }
            }
        }
        decisions.len() - before
    }

    fn scales(&self, now: Time) -> Scales<'_> {
        Scales::new(now, self.epoch, &self.records)
    }

    /// Counts a counter as forgotten, and gives back its record.
    fn lose(&self, word: Word) {
        self.forgotten.fetch_add(1, Relaxed);
        if let Some(record) = word.record() {
            self.records.free(record);
        }
    }

    /// Forgets records until there are no more bytes than there may be; not for ever.
    fn keep_within_bounds(&self, now: Time) {
        for _ in 0..TRIES_TO_FORGET {
            if self.bytes() <= self.max_bytes {
                return;
            }
            if let Some(name) = self.records.least(RECORDS_TO_CHOOSE_FROM, now) {
                self.forget(name, now);
            }
        }
    }

    /// Forgets a counter that has a record, unless somebody is busy with it.
    fn forget(&self, name: Fingerprint, now: Time) {
        let Some(Found { cell, word }) = self.table.find(name) else { return };
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

/// As many as a processor fetches from memory at the same time, and a few more.
const FETCHED_TOGETHER: usize = 16;
/// How many records are looked at to find the one that matters least.
const RECORDS_TO_CHOOSE_FROM: usize = 8;
/// Each check that adds to the records removes as much as it added, and a little more.
const TRIES_TO_FORGET: usize = 4;

impl<C: Clock> Store for Memory<C> {
    type Clock = C;

    fn clock(&self) -> &C {
        &self.clock
    }

    #[inline]
    fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> impl Future<Output = Result<Applied, CheckError>> + Send + 'a {
        ready(Ok(self.decide(set, decisions)))
    }

    #[inline(always)]
    fn apply_one_at_once(&self, set: &Set<'_>) -> Option<(Applied, Decision)> {
        self.decide_alone(set)
    }

    #[inline]
    fn apply_at_once(&self, set: &Set<'_>, decisions: &mut [Option<Decision>]) -> Option<Applied> {
        Some(self.decide(set, decisions))
    }

    fn apply_each_at_once(&self, sets: &[Set<'_>], decisions: &mut Vec<Decision>) -> usize {
        self.decide_each_alone(sets, decisions)
    }

    fn apply_many<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> impl Future<Output = Result<(), CheckError>> + Send + 'a {
        self.decide_each(sets, decisions, applied);
        ready(Ok(()))
    }

    fn apply_detached(&self, check: Check<'_>) {
        // Only receipts are settled this way, and those carry their own id.
        self.decide(&Set::one(&check, Id::from_bits(0)), &mut [None]);
    }
}

impl<C: Clock> Immediate for Memory<C> {}
