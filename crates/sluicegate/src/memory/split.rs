//! The split of a full page: half of its keys go to a new page.
//!
//! It takes the time of copying one page, some hundred microseconds, and blocks only its own keys.

use super::eviction::EvictionWeight;
use super::fingerprint::Fingerprint;
use super::page_state::lines_of;
use super::pages::{CELLS, Cell, LINES};
use super::sync::{Backoff, Relaxed, Release, lock};
use super::table::{Growth, Table};
use super::word::Word;

const ALL: usize = LINES * CELLS;

/// The outcome of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SplitOutcome {
    /// The page was split, by this thread or by another one meanwhile.
    Yes,
    /// There is no room for another page.
    NoRoom,
}

/// A key and its word on the way to a new place.
type Relocation = (Fingerprint, Word);

/// Scratch memory for splits.
///
/// Kept, because allocating it for each split would leave holes between the pages.
#[derive(Debug)]
pub(super) struct SplitScratch {
    /// The previous content of each cell.
    before: Box<[Word]>,
    staying: Layout,
    leaving: Layout,
}

/// A page that is laid out in private memory.
#[derive(Debug)]
struct Layout {
    /// The keys of each line, one after the other.
    lines: Box<[[Relocation; CELLS]]>,
    /// The number of keys in each line.
    filled: Box<[usize]>,
}

impl SplitScratch {
    pub(super) fn new() -> Self {
        Self {
            before: vec![Word::EMPTY; ALL].into(),
            staying: Layout::new(),
            leaving: Layout::new(),
        }
    }
}

impl Layout {
    fn new() -> Self {
        let vacant = (Fingerprint::new(0), Word::EMPTY);
        Self { lines: vec![[vacant; CELLS]; LINES].into(), filled: vec![0; LINES].into() }
    }

    fn clear(&mut self) {
        self.filled.fill(0);
    }

    fn used(&self) -> usize {
        self.filled.iter().sum()
    }

    /// Places a key; returns it if there is no place.
    fn place(&mut self, moving: Relocation) -> Result<(), Relocation> {
        if self.add(moving) {
            return Ok(());
        }
        // As for an insert: one of the keys in its lines moves on.
        for line in lines_of(moving.0) {
            for cell in 0..CELLS {
                if self.add(self.lines[line][cell]) {
                    self.lines[line][cell] = moving;
                    return Ok(());
                }
            }
        }
        Err(moving)
    }

    /// Adds a key to the first of its lines that has room.
    fn add(&mut self, moving: Relocation) -> bool {
        let line = lines_of(moving.0).into_iter().find(|line| self.filled[*line] < CELLS);
        if let Some(line) = line {
            self.lines[line][self.filled[line]] = moving;
            self.filled[line] += 1;
        }
        line.is_some()
    }
}

impl Table {
    /// Splits the page that was full when `name` was to be inserted.
    ///
    /// `may_grow` decides whether there is memory for one more page. Keys without a place are
    /// passed to `count_evicted`.
    #[cold]
    pub(super) fn split_page(
        &self,
        number: usize,
        name: Fingerprint,
        weights: &EvictionWeight<'_>,
        may_grow: impl FnOnce() -> bool,
        mut count_evicted: impl FnMut(Word),
    ) -> SplitOutcome {
        let mut growth = lock(&self.growth);
        if self.directory.page(name) != number {
            return SplitOutcome::Yes;
        }
        let new = growth.units.len();
        if new >= self.most_pages {
            return SplitOutcome::NoRoom;
        }
        let Some((lower, upper)) = self.directory.halves(growth.units[number], new) else {
            return SplitOutcome::NoRoom;
        };
        if !may_grow() {
            return SplitOutcome::NoRoom;
        }
        self.slab.allocate(new);
        let page_lock = self.slab.page(number).lock_all_lines();
        let Growth { units, scratch: SplitScratch { before, staying, leaving } } = &mut *growth;
        staying.clear();
        leaving.clear();
        for line in 0..LINES {
            for (slot, cell) in self.line(number, line).cells().iter().enumerate() {
                let word = close_cell(cell);
                before[line * CELLS + slot] = word;
                let bits = cell.name.load(Relaxed);
                if bits == 0 || weights.is_free(word) {
                    continue;
                }
                let name = Fingerprint::new(bits);
                let half = if upper.has(name) { &mut *leaving } else { &mut *staying };
                if let Err((_, word)) = half.place((name, word)) {
                    count_evicted(word);
                }
            }
        }
        self.write(new, leaving, |_| Word::EMPTY);
        units[number] = lower;
        units.push(upper);
        self.page_bytes.fetch_add(Self::BYTES_PER_PAGE, Relaxed);
        self.directory.enter(upper, new);
        self.directory.enter(lower, number);
        self.write(number, staying, |place| before[place]);
        drop(page_lock);
        SplitOutcome::Yes
    }

    fn write(&self, page: usize, layout: &Layout, before: impl Fn(usize) -> Word) {
        self.slab.page(page).set_used(layout.used());
        for (line, (moving, filled)) in layout.lines.iter().zip(&layout.filled).enumerate() {
            for (slot, cell) in self.line(page, line).cells().iter().enumerate() {
                let there = slot < *filled;
                let (name, word) = moving[slot];
                let (name, word) = if there { (name.bits(), word) } else { (0, Word::EMPTY) };
                cell.name.store(name, Release);
                cell.unlock(before(line * CELLS + slot).reused_for(word));
            }
        }
    }

    /// Returns the number of pages in use.
    pub(super) fn page_count(&self) -> usize {
        lock(&self.growth).units.len()
    }
}

/// Locks a cell until its page is rewritten; returns its content.
fn close_cell(cell: &Cell) -> Word {
    let mut backoff = Backoff::default();
    loop {
        let word = cell.word();
        if !word.is_locked() && cell.swap(word, Word::MOVED) {
            return word;
        }
        backoff.wait();
    }
}
