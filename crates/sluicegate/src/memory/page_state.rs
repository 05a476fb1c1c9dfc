//! The state of a page besides its cells.

use super::fingerprint::Fingerprint;
use super::pages::{CELLS, LINES};
use super::sync::{AcqRel, AtomicU64, Backoff, Relaxed, Release};
use super::word::LimitTag;

/// The state of a page besides its cells.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct PageState {
    /// One lock bit per line.
    locks: [AtomicU64; LINES.div_ceil(64)],
    /// The number of threads that wait for all line locks, or hold them.
    locking_all: AtomicU64,
    /// The number of cells used since the page was last split.
    used: AtomicU64,
    /// Whether relocating keys has failed to make room.
    crowded: AtomicU64,
    /// The limit with the most new keys of late, and its vote count.
    vote: AtomicU64,
}

/// The lock of a line: inserts and moves of the keys whose home it is are serialised.
#[derive(Debug)]
pub(super) struct LineLock<'t> {
    locks: &'t AtomicU64,
    bit: u64,
}

impl Drop for LineLock<'_> {
    fn drop(&mut self) {
        self.locks.fetch_and(!self.bit, Release);
    }
}

impl PageState {
    /// Locks a line, unless another thread holds it or waits for all of them.
    pub(super) fn try_lock_line(&self, line: usize) -> Option<LineLock<'_>> {
        if self.is_locking_all() {
            return None;
        }
        let (locks, bit) = (&self.locks[line / 64], 1 << (line % 64));
        let before = locks.fetch_or(bit, AcqRel);
        (before & bit == 0).then(|| LineLock { locks, bit })
    }

    /// Returns whether a thread waits for all line locks, or holds them.
    pub(super) fn is_locking_all(&self) -> bool {
        self.locking_all.load(Relaxed) != 0
    }

    /// Locks all lines of the page, after their current holders have released them.
    pub(super) fn lock_all_lines(&self) -> PageLock<'_> {
        // Blocks new line locks meanwhile: otherwise one of them might always be held.
        self.locking_all.fetch_add(1, Relaxed);
        for locks in &self.locks {
            let mut backoff = Backoff::default();
            while locks.compare_exchange(0, u64::MAX, AcqRel, Relaxed).is_err() {
                backoff.wait();
            }
        }
        PageLock { page: self }
    }

    /// Returns the number of cells ever used since the page was last split.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Sets the number of used cells after a split.
    pub(super) fn set_used(&self, used: usize) {
        self.used.store(used as u64, Relaxed);
        self.crowded.store(0, Relaxed);
    }

    /// Returns whether relocating keys cannot make room.
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded.load(Relaxed) != 0 || self.used() > MOST_USED
    }

    pub(super) fn set_crowded(&self) {
        self.crowded.store(1, Relaxed);
    }

    pub(super) fn use_another(&self) {
        self.used.fetch_add(1, Relaxed);
    }

    /// Counts a new key that finds the page full; returns the limit with the most of late.
    ///
    /// This is the majority vote of Boyer and Moore, which needs one candidate and one count.
    pub(super) fn vote(&self, limit_tag: LimitTag) -> Option<LimitTag> {
        let before = self.vote.load(Relaxed);
        let (candidate, count) = (LimitTag::from_bits(before), before >> 32);
        let (candidate, count) = match count {
            0 => (limit_tag, 1),
            _ if candidate == limit_tag => (candidate, (count + 1).min(MOST_VOTES)),
            _ => (candidate, count - 1),
        };
        // Two concurrent votes may count as one.
        self.vote.store(count << 32 | candidate.bits(), Relaxed);
        (count >= FLOOD_VOTES).then_some(candidate)
    }
}

/// The largest fill; beyond it, more and more keys would be away from their home line.
const MOST_USED: u64 = (LINES * CELLS) as u64 * 7 / 8;
/// The votes that distinguish a flood from two rules that are about equally busy.
const FLOOD_VOTES: u64 = 16;
/// The largest count, so that a flood that has ended is soon outvoted.
const MOST_VOTES: u64 = 4_096;

/// The locks of all lines of a page.
#[derive(Debug)]
pub(super) struct PageLock<'t> {
    page: &'t PageState,
}

impl Drop for PageLock<'_> {
    fn drop(&mut self) {
        for locks in &self.page.locks {
            locks.store(0, Release);
        }
        self.page.locking_all.fetch_sub(1, Relaxed);
    }
}

/// Returns the line where a key is looked up first.
#[inline]
pub(super) fn home_of(name: Fingerprint) -> usize {
    name.index() % LINES
}

/// Returns the lines that may contain a key.
///
/// Its home, then the neighbouring line, then two lines elsewhere. A key is in a later line only
/// if all earlier ones were full, and a line that was full stays so until the page is split.
pub(super) fn lines_of(name: Fingerprint) -> [usize; 4] {
    let bits = name.index();
    let home = home_of(name);
    let mut other = bits / LINES % LINES;
    if other / 2 == home / 2 {
        other ^= 2;
    }
    [home, home ^ 1, other, other ^ 1]
}
