//! The memory of all cells, in lines of four.

use std::sync::OnceLock;

use super::page::PageState;
use super::sync::AtomicU64;

/// Cells in a line.
pub(super) const CELLS: usize = 4;
/// Lines in a page, the step in which the table grows.
pub(super) const LINES: usize = if cfg!(shuttle) { 8 } else { 2048 };
/// Four cells side by side: one line of the processor's cache.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Line([Cell; CELLS]);

/// A fingerprint and its word.
#[derive(Debug, Default)]
pub(super) struct Cell {
    /// Changed only by whoever has locked the word.
    pub(super) name: AtomicU64,
    pub(super) word: AtomicU64,
}

impl Line {
    #[inline]
    pub(super) fn cells(&self) -> &[Cell; CELLS] {
        &self.0
    }
}

/// Lines, and what is known of them.
#[derive(Debug)]
struct Page {
    lines: [Line; LINES],
    state: PageState,
}

/// All pages. None ever moves, so that growing stops nobody, and none is freed before all are,
/// so that whoever looks at one can never look at something else.
#[derive(Debug)]
pub(super) struct Slab {
    pages: Box<[OnceLock<Box<Page>>]>,
}

impl Slab {
    /// What a page costs: 128 KiB, and what is known of it.
    pub(super) const BYTES_PER_PAGE: usize = size_of::<Page>();

    /// Room for the names of so many pages.
    pub(super) fn new(pages: usize) -> Self {
        Self { pages: (0..pages).map(|_| OnceLock::new()).collect() }
    }

    /// Sees to it that there is memory for a page.
    pub(super) fn allocate(&self, page: usize) {
        self.pages[page].get_or_init(|| {
            let lines = std::array::from_fn(|_| Line::default());
            Box::new(Page { lines, state: PageState::default() })
        });
    }

    /// A line of a page.
    #[inline]
    pub(super) fn line(&self, page: usize, line: usize) -> &Line {
        &self.get(page).lines[line % LINES]
    }

    /// What is known of a page.
    pub(super) fn page(&self, page: usize) -> &PageState {
        &self.get(page).state
    }

    #[inline]
    fn get(&self, page: usize) -> &Page {
        match self.pages[page].get() {
            Some(page) => page,
            None => unreachable!("a page is allocated before anybody hears of it"),
        }
    }
}
