//! Dividing a page that is full: half of its keys go to a new page.
//!
//! It takes the time of copying one page, some hundred microseconds, and only its own keys wait.

use super::forget::Scales;
use super::hash::Fingerprint;
use super::page::lines_of;
use super::slab::{CELLS, Cell, LINES};
use super::sync::{Patience, Relaxed, Release, lock};
use super::table::{Growth, Table};
use super::word::Word;

const ALL: usize = LINES * CELLS;

/// Whether a page could be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Divided {
    /// It was, by us or by somebody else meanwhile.
    Yes,
    /// There is no room for another page.
    NoRoom,
}

/// A key and its word on the way to a new place.
type Moving = (Fingerprint, Word);

/// Where a page is divided. It is kept: allocating it anew each time would leave holes between
/// the pages.
#[derive(Debug)]
pub(super) struct Workbench {
    /// What was in each cell.
    before: Box<[Word]>,
    staying: Layout,
    leaving: Layout,
}

/// A page being laid out where nobody sees it.
#[derive(Debug)]
struct Layout {
    /// The keys of each line, one after the other.
    lines: Box<[[Moving; CELLS]]>,
    /// How many keys each line has.
    filled: Box<[usize]>,
}

impl Workbench {
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
        let nobody = (Fingerprint::new(0), Word::EMPTY);
        Self { lines: vec![[nobody; CELLS]; LINES].into(), filled: vec![0; LINES].into() }
    }

    fn clear(&mut self) {
        self.filled.fill(0);
    }

    fn used(&self) -> usize {
        self.filled.iter().sum()
    }

    /// Puts a key where it belongs; gives it back if there is no place.
    fn place(&mut self, moving: Moving) -> Result<(), Moving> {
        if self.add(moving) {
            return Ok(());
        }
        // As a newcomer would: one of those in the way moves on.
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

    /// Adds a key to the first line with room among those it may be in.
    fn add(&mut self, moving: Moving) -> bool {
        let line = lines_of(moving.0).into_iter().find(|line| self.filled[*line] < CELLS);
        if let Some(line) = line {
            self.lines[line][self.filled[line]] = moving;
            self.filled[line] += 1;
        }
        line.is_some()
    }
}

impl Table {
    /// Divides the page that was full when a key came to it, if there is memory for one more:
    /// `may_grow` is asked for it. Keys that found no place are handed to `lose`.
    #[cold]
    pub(super) fn divide(
        &self,
        number: usize,
        name: Fingerprint,
        scales: &Scales<'_>,
        may_grow: impl FnOnce() -> bool,
        mut lose: impl FnMut(Word),
    ) -> Divided {
        let mut growth = lock(&self.growth);
        if self.directory.page(name) != number {
            return Divided::Yes;
        }
        let new = growth.units.len();
        if new >= self.most_pages {
            return Divided::NoRoom;
        }
        let Some((lower, upper)) = self.directory.halves(growth.units[number], new) else {
            return Divided::NoRoom;
        };
        if !may_grow() {
            return Divided::NoRoom;
        }
        self.slab.allocate(new);
        let doors = self.slab.page(number).all_doors();
        let Growth { units, workbench: Workbench { before, staying, leaving } } = &mut *growth;
        staying.clear();
        leaving.clear();
        for line in 0..LINES {
            for (slot, cell) in self.line(number, line).cells().iter().enumerate() {
                let word = take_out(cell);
                before[line * CELLS + slot] = word;
                let bits = cell.name.load(Relaxed);
                if bits == 0 || scales.is_free(word) {
                    continue;
                }
                let name = Fingerprint::new(bits);
                let half = if upper.has(name) { &mut *leaving } else { &mut *staying };
                if let Err((_, word)) = half.place((name, word)) {
                    lose(word);
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
        drop(doors);
        Divided::Yes
    }

    fn write(&self, page: usize, layout: &Layout, before: impl Fn(usize) -> Word) {
        self.slab.page(page).set_used(layout.used());
        for (line, (moving, filled)) in layout.lines.iter().zip(&layout.filled).enumerate() {
            for (slot, cell) in self.line(page, line).cells().iter().enumerate() {
                let there = slot < *filled;
                let (name, word) = moving[slot];
                let (name, word) = if there { (name.bits(), word) } else { (0, Word::EMPTY) };
                cell.name.store(name, Release);
                cell.unlock(before(line * CELLS + slot).handed_over(word));
            }
        }
    }

    /// How many pages are in use.
    pub(super) fn page_count(&self) -> usize {
        lock(&self.growth).units.len()
    }
}

/// Locks a cell for good, until its page is written anew; returns what was in it.
fn take_out(cell: &Cell) -> Word {
    let mut patience = Patience::default();
    loop {
        let word = cell.word();
        if !word.is_locked() && cell.swap(word, Word::MOVED) {
            return word;
        }
        patience.wait();
    }
}
