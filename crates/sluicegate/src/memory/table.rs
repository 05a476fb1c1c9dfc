//! All cells, and the lookup from a fingerprint to its cell.
//!
//! A lookup writes nothing and never waits. A key that is not found is looked up again under the
//! lock of its home line, where inserts are serialised: a key not found then does not exist,
//! because a thread that moves a key holds that key's line lock, and a thread that splits a page
//! holds all of them.
//!
//! A word is changed by compare-and-swap, or by the thread that has locked it. Only then may the
//! name beside it change. No thread waits for a locked word while holding a line lock, except a
//! thread that splits a page, which holds all of them. A thread that holds locked words waits for
//! other words only in the order of their fingerprints, and releases all of them when it needs a
//! word or a line of a page that is being split. Hence there is no deadlock.

use std::hint::black_box;

use super::directory::{FIRST_PAGES, PageDirectory, Units};
use super::eviction::EvictionWeight;
use super::fingerprint::Fingerprint;
use super::page_state::{LineLock, PageState, home_of, lines_of};
use super::pages::{Cell, Line, Slab};
use super::split::SplitScratch;
use super::sync::{AcqRel, Acquire, AtomicUsize, Backoff, Mutex, Relaxed, Release};
use super::word::{LimitTag, Word};

#[derive(Debug)]
pub(super) struct Table {
    pub(super) slab: Slab,
    pub(super) directory: PageDirectory,
    pub(super) growth: Mutex<Growth>,
    pub(super) most_pages: usize,
    /// The cost of all pages.
    pub(super) page_bytes: AtomicUsize,
}

/// The data that changes only when a page is split.
#[derive(Debug)]
pub(super) struct Growth {
    /// The units of each page.
    pub(super) units: Vec<Units>,
    pub(super) scratch: SplitScratch,
}

impl Cell {
    #[inline]
    pub(super) fn word(&self) -> Word {
        Word::from_bits(self.word.load(Acquire))
    }

    /// Replaces the word if it is unchanged.
    #[inline]
    pub(super) fn swap(&self, from: Word, to: Word) -> bool {
        self.word.compare_exchange(from.bits(), to.bits(), AcqRel, Relaxed).is_ok()
    }

    /// Locks the word if it is unchanged.
    #[inline]
    pub(super) fn lock(&self, word: Word) -> bool {
        !word.is_locked() && self.swap(word, word.locked())
    }

    /// Unlocks the word with a new value; only for the thread that has locked it.
    #[inline]
    pub(super) fn unlock(&self, word: Word) {
        self.word.store(word.bits(), Release);
    }

    #[inline]
    pub(super) fn is_named(&self, name: Fingerprint) -> bool {
        self.name.load(Acquire) == name.bits()
    }

    /// Returns the word under a name that was seen beside it shortly before.
    #[inline]
    fn found(&self, name: Fingerprint) -> Option<FoundCell<'_>> {
        let word = self.word();
        // If the cell was reused in between, the word belongs to another key. It may even have
        // been reused and be back: a decision from the word alone has to check that the word is
        // unchanged.
        self.is_named(name).then_some(FoundCell { cell: self, word })
    }

    fn is_unclaimed(&self) -> bool {
        self.name.load(Acquire) == 0
    }
}

/// A cell that was found, and its word at that time.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundCell<'t> {
    pub(super) cell: &'t Cell,
    pub(super) word: Word,
}

/// A cell that was locked for a new key and bears its name; it has to be unlocked.
#[derive(Debug)]
#[must_use]
pub(super) struct ClaimedCell<'t> {
    pub(super) cell: &'t Cell,
    /// The previous word of the cell.
    pub(super) before: Word,
}

impl ClaimedCell<'_> {
    pub(super) fn fill(self, word: Word) {
        self.cell.unlock(self.before.reused_for(word));
    }
}

impl Table {
    /// The cost of a page, including its share of the directory.
    pub(super) const BYTES_PER_PAGE: usize = Slab::BYTES_PER_PAGE + 64;

    /// Creates a table that grows to at most `most_pages` pages.
    pub(super) fn new(most_pages: usize) -> Self {
        let most_pages = most_pages.max(FIRST_PAGES.len());
        let slab = Slab::new(most_pages);
        for page in 0..FIRST_PAGES.len() {
            slab.allocate(page);
        }
        let (directory, units) = PageDirectory::new();
        Self {
            slab,
            directory,
            growth: Mutex::new(Growth { units, scratch: SplitScratch::new() }),
            most_pages,
            page_bytes: AtomicUsize::new(FIRST_PAGES.len() * Self::BYTES_PER_PAGE),
        }
    }

    /// Returns the bytes used by the table.
    pub(super) fn bytes(&self) -> usize {
        self.page_bytes.load(Relaxed)
    }

    pub(super) fn max_bytes(&self) -> usize {
        self.most_pages * Self::BYTES_PER_PAGE
    }

    /// Finds the cell of a fingerprint without waiting.
    ///
    /// A key that is not found may have been moving from one cell to another: then look it up
    /// under its [line lock](Table::insert_slot).
    #[inline(always)]
    pub(super) fn find(&self, name: Fingerprint) -> Option<FoundCell<'_>> {
        let page = self.directory.page(name);
        // Nearly all keys are in their home line.
        for cell in self.line(page, home_of(name)).cells() {
            if cell.name.load(Acquire) == name.bits() {
                return cell.found(name);
            }
        }
        self.find_in(page, name)
    }

    /// Prefetches the memory that [`find`](Table::find) needs for these, all at once.
    ///
    /// In three steps, because a processor looks ahead only so far: addresses first, then reads
    /// that follow each other closely, so that none waits for the one before.
    #[inline]
    pub(super) fn fetch<const N: usize>(&self, names: &[Option<Fingerprint>; N]) {
        let (mut places, mut lines) = ([(0, 0); N], [None; N]);
        let names = || names.iter().flatten();
        for (place, name) in places.iter_mut().zip(names()) {
            *place = (self.directory.page(*name), home_of(*name));
        }
        for (line, (place, _)) in lines.iter_mut().zip(places.iter().zip(names())) {
            *line = Some(self.line(place.0, place.1));
        }
        let read = |line: &Line| line.cells()[0].name.load(Relaxed);
        let read = lines.iter().flatten().fold(0, |all, line| all ^ read(line));
        // Keeps the compiler from removing an unused read.
        black_box(read);
    }

    #[inline(never)]
    fn find_in(&self, page: usize, name: Fingerprint) -> Option<FoundCell<'_>> {
        for line in lines_of(name) {
            let mut full = true;
            for cell in self.line(page, line).cells() {
                let found = cell.name.load(Acquire);
                if found == name.bits() {
                    return cell.found(name);
                }
                // A cell that is being claimed counts as used: its name is about to be written.
                full &= found != 0 || cell.word().is_locked();
            }
            if !full {
                return None;
            }
        }
        None
    }

    /// Locks the home line of a fingerprint; while it is held, the key is neither inserted nor
    /// moved.
    ///
    /// Only for threads without locked words.
    pub(super) fn insert_slot(&self, name: Fingerprint) -> InsertSlot<'_> {
        let mut backoff = Backoff::default();
        loop {
            if let Some(slot) = self.try_insert_slot(name) {
                return slot;
            }
            backoff.wait();
        }
    }

    /// Locks the home line, for threads with locked words.
    ///
    /// `None` if the thread has to release its words first, because another one that holds all
    /// line locks of the page may be waiting for them.
    pub(super) fn try_insert_slot(&self, name: Fingerprint) -> Option<InsertSlot<'_>> {
        let mut backoff = Backoff::default();
        loop {
            let number = self.directory.page(name);
            let page = self.slab.page(number);
            if let Some(line_lock) = page.try_lock_line(home_of(name)) {
                // The page may have been split before its line was locked.
                if self.directory.page(name) == number {
                    return Some(InsertSlot {
                        table: self,
                        number,
                        page,
                        name,
                        _line_lock: line_lock,
                    });
                }
            }
            if page.is_locking_all() {
                return None;
            }
            backoff.wait();
        }
    }

    #[inline]
    pub(super) fn line(&self, page: usize, line: usize) -> &Line {
        self.slab.line(page, line)
    }

    /// Returns the cells a fingerprint may be in, in their order.
    fn cells_of(&self, page: usize, name: Fingerprint) -> impl Iterator<Item = &Cell> + Clone {
        lines_of(name).into_iter().flat_map(move |line| self.line(page, line).cells())
    }
}

/// The lookup and insertion of a key under its line lock.
#[derive(Debug)]
pub(super) struct InsertSlot<'t> {
    table: &'t Table,
    pub(super) number: usize,
    page: &'t PageState,
    name: Fingerprint,
    _line_lock: LineLock<'t>,
}

impl<'t> InsertSlot<'t> {
    fn cells(&self, name: Fingerprint) -> impl Iterator<Item = &'t Cell> + Clone + use<'t> {
        self.table.cells_of(self.number, name)
    }

    /// Returns the key's cell; a key that is not found now does not exist.
    pub(super) fn find(&self) -> Option<FoundCell<'t>> {
        let mut backoff = Backoff::default();
        loop {
            if let Some(found) = self.table.find_in(self.number, self.name) {
                return Some(found);
            }
            // Not found although a cell has the name: it was evicted at that time, or a cell was
            // reused at that time. Rare and brief.
            if !self.cells(self.name).any(|cell| cell.is_named(self.name)) {
                return None;
            }
            backoff.wait();
        }
    }

    /// Claims a cell for a key that has none.
    ///
    /// A free one, or one whose counter has recovered, or one whose key can move elsewhere; `None`
    /// if there is none of these.
    pub(super) fn claim(&self, weights: &EvictionWeight<'_>) -> Option<ClaimedCell<'t>> {
        let claimed = self.claim_free(self.name, |word| weights.is_free(word));
        let claimed = claimed.or_else(|| self.claim_by_moving(weights));
        let claimed =
            claimed.or_else(|| self.claim_free(self.name, |word| weights.share(word) == 0));
        let claimed = claimed?;
        claimed.cell.name.store(self.name.bits(), Release);
        Some(claimed)
    }

    /// Claims the cell with the least valuable counter among those the key may be in.
    pub(super) fn claim_by_evicting(
        &self,
        tag: LimitTag,
        weights: &EvictionWeight<'_>,
    ) -> Option<ClaimedCell<'t>> {
        // The limit with the most new keys of late; before that is known, with the most counters
        // here.
        let flood = self.page.vote(tag).or_else(|| majority(self.cells(self.name)));
        let weighed = self.cells(self.name).filter_map(|cell| {
            let word = cell.word();
            let others = flood.is_none_or(|flood| word.limit_tag() != flood);
            (!word.is_locked()).then(|| ((others, weights.share(word)), cell, word))
        });
        let (_, cell, word) = weighed.min_by_key(|(weight, ..)| *weight)?;
        if !cell.lock(word) {
            return None;
        }
        cell.name.store(self.name.bits(), Release);
        Some(ClaimedCell { cell, before: word })
    }

    /// Locks the first cell for `name` that is free or whose counter has recovered.
    fn claim_free(
        &self,
        name: Fingerprint,
        is_free: impl Fn(Word) -> bool,
    ) -> Option<ClaimedCell<'t>> {
        for cell in self.cells(name) {
            let word = cell.word();
            if word.is_locked() || !(cell.is_unclaimed() || is_free(word)) || !cell.lock(word) {
                continue;
            }
            // A record may have been used again between the check and the lock.
            if cell.is_unclaimed() {
                self.page.use_another();
            } else if !is_free(word) {
                cell.unlock(word);
                continue;
            }
            return Some(ClaimedCell { cell, before: word });
        }
        None
    }

    /// Moves one of the keys in these cells to another of its own cells.
    #[cold]
    fn claim_by_moving(&self, weights: &EvictionWeight<'_>) -> Option<ClaimedCell<'t>> {
        if self.page.is_crowded() {
            return None;
        }
        let mut all_stay = true;
        for cell in self.cells(self.name) {
            let mover = Fingerprint::new(cell.name.load(Acquire));
            let home = home_of(mover);
            // The same home line: its lock is held already.
            let line_lock = (home != home_of(self.name)).then(|| self.page.try_lock_line(home));
            let word = cell.word();
            // The key is in use by another thread; it may be able to move next time.
            if matches!(line_lock, Some(None)) || !cell.is_named(mover) || !cell.lock(word) {
                all_stay = false;
                continue;
            }
            let elsewhere = if cell.is_named(mover) {
                self.claim_free(mover, |word| weights.is_free(word))
            } else {
                None
            };
            let Some(elsewhere) = elsewhere else {
                cell.unlock(word);
                continue;
            };
            elsewhere.cell.name.store(mover.bits(), Release);
            elsewhere.fill(word);
            return Some(ClaimedCell { cell, before: word.emptied() });
        }
        if all_stay {
            self.page.set_crowded();
        }
        None
    }
}

/// Returns the limit of more than half of the cells, if there is one.
fn majority<'t>(cells: impl Iterator<Item = &'t Cell> + Clone) -> Option<LimitTag> {
    let tags = cells.map(|cell| cell.word().limit_tag());
    let (limit_tag, _) = tags.clone().fold((None, 0), |(most, count), limit_tag| match count {
        0 => (Some(limit_tag), 1),
        _ if most == Some(limit_tag) => (most, count + 1),
        _ => (most, count - 1),
    });
    let count = tags.clone().filter(|other| Some(*other) == limit_tag).count();
    limit_tag.filter(|_| count * 2 > tags.count())
}
