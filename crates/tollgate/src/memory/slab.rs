//! The memory of all cells, in lines of four.

use std::sync::OnceLock;

use super::page::PageState;
use super::sync::AtomicU64;

/// Cells in a line.
pub(super) const CELLS: usize = 4;
/// Lines in a page, the step in which the table grows.
pub(super) const LINES: usize = if cfg!(shuttle) { 4 } else { 1024 };
/// Pages that are allocated together.
const PAGES: usize = 4;

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

/// Pages that were allocated together.
#[derive(Debug)]
struct Chunk {
    lines: Box<[Line]>,
    pages: Box<[PageState]>,
}

/// All pages. None ever moves, so that growing stops nobody, and none is freed before all are,
/// so that whoever looks at one can never look at something else.
#[derive(Debug)]
pub(super) struct Slab {
    chunks: Box<[OnceLock<Chunk>]>,
}

impl Slab {
    /// What a page costs: 64 KiB, and what is known of it.
    pub(super) const BYTES_PER_PAGE: usize = LINES * size_of::<Line>() + size_of::<PageState>();

    /// Room for the names of so many pages.
    pub(super) fn new(pages: usize) -> Self {
        Self { chunks: (0..pages.div_ceil(PAGES)).map(|_| OnceLock::new()).collect() }
    }

    /// Sees to it that there is memory for a page.
    pub(super) fn allocate(&self, page: usize) {
        self.chunks[page / PAGES].get_or_init(|| Chunk {
            lines: (0..LINES * PAGES).map(|_| Line::default()).collect(),
            pages: (0..PAGES).map(|_| PageState::default()).collect(),
        });
    }

    /// A line of a page.
    #[inline]
    pub(super) fn line(&self, page: usize, line: usize) -> &Line {
        &self.chunk(page).lines[page % PAGES * LINES + line]
    }

    /// What is known of a page.
    pub(super) fn page(&self, page: usize) -> &PageState {
        &self.chunk(page).pages[page % PAGES]
    }

    #[inline]
    fn chunk(&self, page: usize) -> &Chunk {
        match self.chunks[page / PAGES].get() {
            Some(chunk) => chunk,
            None => unreachable!("a page is allocated before anybody hears of it"),
        }
    }
}
