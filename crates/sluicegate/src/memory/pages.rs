//! The memory of all cells, in lines of four.

use std::sync::OnceLock;

use super::page_state::PageState;
use super::sync::AtomicU64;

/// Cells in a line.
pub(super) const CELLS: usize = 4;
/// Lines in a page, the growth step of the table.
pub(super) const LINES: usize = if cfg!(shuttle) { 8 } else { 2048 };
/// Four adjacent cells: one cache line of the processor.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Line([Cell; CELLS]);

/// A fingerprint and its word.
#[derive(Debug, Default)]
pub(super) struct Cell {
    /// Changed only while the word is locked.
    pub(super) name: AtomicU64,
    pub(super) word: AtomicU64,
}

impl Line {
    #[inline]
    pub(super) fn cells(&self) -> &[Cell; CELLS] {
        &self.0
    }
}

/// The lines of a page, and its state.
#[derive(Debug)]
struct Page {
    lines: [Line; LINES],
    state: PageState,
}

/// All pages.
///
/// A page never moves, so that growth blocks no thread, and none is freed before all are, so that
/// a reference to a page stays valid.
#[derive(Debug)]
pub(super) struct Slab {
    pages: Box<[OnceLock<Box<Page>>]>,
}

impl Slab {
    /// The cost of a page: 128 KiB, and its state.
    pub(super) const BYTES_PER_PAGE: usize = size_of::<Page>();

    /// Creates the index for `pages` pages.
    pub(super) fn new(pages: usize) -> Self {
        Self { pages: (0..pages).map(|_| OnceLock::new()).collect() }
    }

    /// Allocates a page if it is not allocated yet.
    pub(super) fn allocate(&self, page: usize) {
        self.pages[page].get_or_init(|| {
            let lines = std::array::from_fn(|_| Line::default());
            Box::new(Page { lines, state: PageState::default() })
        });
    }

    /// Returns a line of a page.
    #[inline]
    pub(super) fn line(&self, page: usize, line: usize) -> &Line {
        &self.get(page).lines[line % LINES]
    }

    /// Returns the state of a page.
    pub(super) fn page(&self, page: usize) -> &PageState {
        &self.get(page).state
    }

    #[inline]
    fn get(&self, page: usize) -> &Page {
        match self.pages[page].get() {
            Some(page) => page,
            None => unreachable!("a page is allocated before it is published"),
        }
    }
}
