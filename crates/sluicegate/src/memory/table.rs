//! All cells, and the way from a fingerprint to its own.
//!
//! Finding a cell writes nothing and waits for nobody. A key that is not found goes through the
//! door of its home line, where keys come in one at a time, and looks once more: what is not
//! found then is not there, because whoever moves a key holds that key's door, and whoever
//! divides a page holds all of them.
//!
//! A word is changed by compare-and-swap, or by whoever has locked it. Only then may the name
//! beside it change. Nobody waits for a locked word while holding a door, but who divides a page
//! does, with all of its doors. Whoever holds locked words waits for others in the order of their
//! fingerprints only, and lets all go when a page is being divided that it needs a word or a door
//! of: so nobody waits in a ring.

use std::hint::black_box;

use super::directory::{Directory, FIRST_PAGES, Units};
use super::divide::Workbench;
use super::forget::Scales;
use super::hash::Fingerprint;
use super::page::{Door, PageState, home_of, lines_of};
use super::slab::{Cell, Line, Slab};
use super::sync::{AcqRel, Acquire, AtomicUsize, Mutex, Patience, Relaxed, Release};
use super::word::{Mark, Word};

#[derive(Debug)]
pub(super) struct Table {
    pub(super) slab: Slab,
    pub(super) directory: Directory,
    pub(super) growth: Mutex<Growth>,
    pub(super) most_pages: usize,
    /// What all pages cost.
    pub(super) page_bytes: AtomicUsize,
}

/// What only changes when a page is divided.
#[derive(Debug)]
pub(super) struct Growth {
    /// The units of each page.
    pub(super) units: Vec<Units>,
    pub(super) workbench: Workbench,
}

impl Cell {
    #[inline]
    pub(super) fn word(&self) -> Word {
        Word::from_bits(self.word.load(Acquire))
    }

    /// Replaces the word, if it is still what it was.
    #[inline]
    pub(super) fn swap(&self, from: Word, to: Word) -> bool {
        self.word.compare_exchange(from.bits(), to.bits(), AcqRel, Relaxed).is_ok()
    }

    /// Locks the word, if it is still what it was.
    #[inline]
    pub(super) fn lock(&self, word: Word) -> bool {
        !word.is_locked() && self.swap(word, word.locked())
    }

    /// Unlocks the word with this in it; only for whoever has locked it.
    #[inline]
    pub(super) fn unlock(&self, word: Word) {
        self.word.store(word.bits(), Release);
    }

    #[inline]
    pub(super) fn is_named(&self, name: Fingerprint) -> bool {
        self.name.load(Acquire) == name.bits()
    }

    /// The word under a name that was seen beside it a moment ago.
    #[inline]
    fn found(&self, name: Fingerprint) -> Option<Found<'_>> {
        let word = self.word();
        // If the cell changed hands in between, the word is another's. It may even have changed
        // hands and back: whoever answers from the word alone has to see that it still stands.
        self.is_named(name).then_some(Found { cell: self, word })
    }

    fn is_nobodys(&self) -> bool {
        self.name.load(Acquire) == 0
    }
}

/// A cell that has been found, and its word at the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'t> {
    pub(super) cell: &'t Cell,
    pub(super) word: Word,
}

/// A cell that has been locked for a newcomer and bears its name; it has to be unlocked.
#[derive(Debug)]
#[must_use]
pub(super) struct Claimed<'t> {
    pub(super) cell: &'t Cell,
    /// The word of whoever had it before.
    pub(super) before: Word,
}

impl Claimed<'_> {
    pub(super) fn fill(self, word: Word) {
        self.cell.unlock(self.before.handed_over(word));
    }
}

impl Table {
    /// What a page costs, its share of the directory included.
    pub(super) const BYTES_PER_PAGE: usize = Slab::BYTES_PER_PAGE + 64;

    /// A table that grows to at most so many pages.
    pub(super) fn new(most_pages: usize) -> Self {
        let most_pages = most_pages.max(FIRST_PAGES.len());
        let slab = Slab::new(most_pages);
        for page in 0..FIRST_PAGES.len() {
            slab.allocate(page);
        }
        let (directory, units) = Directory::new();
        Self {
            slab,
            directory,
            growth: Mutex::new(Growth { units, workbench: Workbench::new() }),
            most_pages,
            page_bytes: AtomicUsize::new(FIRST_PAGES.len() * Self::BYTES_PER_PAGE),
        }
    }

    /// What the table costs.
    pub(super) fn bytes(&self) -> usize {
        self.page_bytes.load(Relaxed)
    }

    pub(super) fn max_bytes(&self) -> usize {
        self.most_pages * Self::BYTES_PER_PAGE
    }

    /// The cell of a fingerprint, as far as can be seen in passing. What is not found may have
    /// been on its way from one cell to another: ask at its [`door`](Table::door).
    #[inline(always)]
    pub(super) fn find(&self, name: Fingerprint) -> Option<Found<'_>> {
        let page = self.directory.page(name);
        // Nearly all are at home.
        for cell in self.line(page, home_of(name)).cells() {
            if cell.name.load(Acquire) == name.bits() {
                return cell.found(name);
            }
        }
        self.find_in(page, name)
    }

    /// Fetches what [`find`](Table::find) will need for these, all at once.
    ///
    /// In three steps, because a processor looks only so far ahead: addresses first, then reads
    /// that follow each other closely, so that none waits for the one before.
    #[inline]
    pub(super) fn fetch<const N: usize>(&self, names: &[Option<Fingerprint>; N]) {
        let pages = names.map(|name| name.map(|name| (self.directory.page(name), home_of(name))));
        let lines = pages.map(|place| place.map(|(page, line)| self.line(page, line)));
        let read = |line: &Line| line.cells()[0].name.load(Relaxed);
        let read = lines.iter().flatten().fold(0, |all, line| all ^ read(line));
        // Only so that it is not left out because nobody needs it.
        black_box(read);
    }

    #[inline(never)]
    fn find_in(&self, page: usize, name: Fingerprint) -> Option<Found<'_>> {
        for line in lines_of(name) {
            let mut full = true;
            for cell in self.line(page, line).cells() {
                let found = cell.name.load(Acquire);
                if found == name.bits() {
                    return cell.found(name);
                }
                // One that is being claimed is as good as full: its name is about to be there.
                full &= found != 0 || cell.word().is_locked();
            }
            if !full {
                return None;
            }
        }
        None
    }

    /// Goes through the door of a fingerprint; until it is left, the key neither comes nor moves.
    /// Only for who has locked no word.
    pub(super) fn door(&self, name: Fingerprint) -> Doorway<'_> {
        let mut patience = Patience::default();
        loop {
            if let Some(doorway) = self.door_or_way_out(name) {
                return doorway;
            }
            patience.wait();
        }
    }

    /// The same for who has locked words; `None` if it has to let them go first, because somebody
    /// with all doors of the page may be waiting for them.
    pub(super) fn door_or_way_out(&self, name: Fingerprint) -> Option<Doorway<'_>> {
        let mut patience = Patience::default();
        loop {
            let number = self.directory.page(name);
            let page = self.slab.page(number);
            if let Some(door) = page.try_door(home_of(name)) {
                // The page may have been divided before its door was opened.
                if self.directory.page(name) == number {
                    return Some(Doorway { table: self, number, page, name, _door: door });
                }
            }
            if page.is_closing() {
                return None;
            }
            patience.wait();
        }
    }

    #[inline]
    pub(super) fn line(&self, page: usize, line: usize) -> &Line {
        self.slab.line(page, line)
    }

    /// The cells a fingerprint may be in, in their order.
    fn cells_of(&self, page: usize, name: Fingerprint) -> impl Iterator<Item = &Cell> + Clone {
        lines_of(name).into_iter().flat_map(move |line| self.line(page, line).cells())
    }
}

/// In the door of a key.
#[derive(Debug)]
pub(super) struct Doorway<'t> {
    table: &'t Table,
    pub(super) number: usize,
    page: &'t PageState,
    name: Fingerprint,
    _door: Door<'t>,
}

impl<'t> Doorway<'t> {
    fn cells(&self, name: Fingerprint) -> impl Iterator<Item = &'t Cell> + Clone + use<'t> {
        self.table.cells_of(self.number, name)
    }

    /// The key's cell; what is not found now is not there.
    pub(super) fn find(&self) -> Option<Found<'t>> {
        let mut patience = Patience::default();
        loop {
            if let Some(found) = self.table.find_in(self.number, self.name) {
                return Some(found);
            }
            // Not found although it bears the name: it was forgotten that moment, or a cell
            // was taken over that moment. Seldom, and soon over.
            if !self.cells(self.name).any(|cell| cell.is_named(self.name)) {
                return None;
            }
            patience.wait();
        }
    }

    /// A cell for a key that has none: nobody's, or one whose counter has recovered, or one
    /// whose key can move elsewhere; `None` if there is none of these.
    pub(super) fn claim(&self, scales: &Scales<'_>) -> Option<Claimed<'t>> {
        let claimed = self.claim_free(self.name, |word| scales.is_free(word));
        let claimed = claimed.or_else(|| self.claim_by_moving(scales));
        let claimed =
            claimed.or_else(|| self.claim_free(self.name, |word| scales.share(word) == 0));
        let claimed = claimed?;
        claimed.cell.name.store(self.name.bits(), Release);
        Some(claimed)
    }

    /// The cell of what matters least among those the key may be in.
    pub(super) fn claim_by_forgetting(
        &self,
        newcomer: Mark,
        scales: &Scales<'_>,
    ) -> Option<Claimed<'t>> {
        // Whose newcomers are most of late; before that is known, whose counters are most here.
        let flood = self.page.vote(newcomer).or_else(|| majority(self.cells(self.name)));
        let weighed = self.cells(self.name).filter_map(|cell| {
            let word = cell.word();
            let others = flood.is_none_or(|flood| word.mark() != flood);
            (!word.is_locked()).then(|| ((others, scales.share(word)), cell, word))
        });
        let (_, cell, word) = weighed.min_by_key(|(weight, ..)| *weight)?;
        if !cell.lock(word) {
            return None;
        }
        cell.name.store(self.name.bits(), Release);
        Some(Claimed { cell, before: word })
    }

    /// Locks the first cell for `name` that is nobody's or whose word is free.
    fn claim_free(&self, name: Fingerprint, is_free: impl Fn(Word) -> bool) -> Option<Claimed<'t>> {
        for cell in self.cells(name) {
            let word = cell.word();
            if word.is_locked() || !(cell.is_nobodys() || is_free(word)) || !cell.lock(word) {
                continue;
            }
            // A record may have been used again between looking and locking.
            if cell.is_nobodys() {
                self.page.use_another();
            } else if !is_free(word) {
                cell.unlock(word);
                continue;
            }
            return Some(Claimed { cell, before: word });
        }
        None
    }

    /// Moves one of the keys that are in the way to another of its own cells.
    #[cold]
    fn claim_by_moving(&self, scales: &Scales<'_>) -> Option<Claimed<'t>> {
        if self.page.is_crowded() {
            return None;
        }
        let mut all_stay = true;
        for cell in self.cells(self.name) {
            let mover = Fingerprint::new(cell.name.load(Acquire));
            let home = home_of(mover);
            // At home here: we are in its door already.
            let door = (home != home_of(self.name)).then(|| self.page.try_door(home));
            let word = cell.word();
            // Somebody is busy with it: the next time it may be able to move.
            if matches!(door, Some(None)) || !cell.is_named(mover) || !cell.lock(word) {
                all_stay = false;
                continue;
            }
            let elsewhere = if cell.is_named(mover) {
                self.claim_free(mover, |word| scales.is_free(word))
            } else {
                None
            };
            let Some(elsewhere) = elsewhere else {
                cell.unlock(word);
                continue;
            };
            elsewhere.cell.name.store(mover.bits(), Release);
            elsewhere.fill(word);
            return Some(Claimed { cell, before: word.moved_out() });
        }
        if all_stay {
            self.page.set_crowded();
        }
        None
    }
}

/// The mark that more than half of the cells bear, if there is one.
fn majority<'t>(cells: impl Iterator<Item = &'t Cell> + Clone) -> Option<Mark> {
    let marks = cells.map(|cell| cell.word().mark());
    let (mark, _) = marks.clone().fold((None, 0), |(most, count), mark| match count {
        0 => (Some(mark), 1),
        _ if most == Some(mark) => (most, count + 1),
        _ => (most, count - 1),
    });
    let count = marks.clone().filter(|other| Some(*other) == mark).count();
    mark.filter(|_| count * 2 > marks.count())
}
