//! What is known of a page besides its cells.

use super::hash::Fingerprint;
use super::slab::{CELLS, LINES};
use super::sync::{AcqRel, AtomicU64, Patience, Relaxed, Release};
use super::word::Mark;

/// What is known of a page besides its cells.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct PageState {
    /// A bit for the door of each line.
    doors: [AtomicU64; LINES.div_ceil(64)],
    /// How many want all doors, or have them.
    closing: AtomicU64,
    /// How many of its cells have been used since it was last divided.
    used: AtomicU64,
    /// Looking for room by moving keys about was in vain.
    crowded: AtomicU64,
    /// Whose newcomers are most of late, and by how many.
    vote: AtomicU64,
}

/// The door of a line: keys whose home it is come in, and move about, one at a time.
#[derive(Debug)]
pub(super) struct Door<'t> {
    doors: &'t AtomicU64,
    bit: u64,
}

impl Drop for Door<'_> {
    fn drop(&mut self) {
        self.doors.fetch_and(!self.bit, Release);
    }
}

impl PageState {
    /// The door of a line, unless somebody else is in it or all are wanted.
    pub(super) fn try_door(&self, line: usize) -> Option<Door<'_>> {
        if self.is_closing() {
            return None;
        }
        let (doors, bit) = (&self.doors[line / 64], 1 << (line % 64));
        let before = doors.fetch_or(bit, AcqRel);
        (before & bit == 0).then(|| Door { doors, bit })
    }

    /// Whether somebody wants all doors, or has them.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed) != 0
    }

    /// All doors of the page, once whoever is in one has left it.
    pub(super) fn all_doors(&self) -> AllDoors<'_> {
        // Others stay away meanwhile: otherwise there might always be somebody in a door.
        self.closing.fetch_add(1, Relaxed);
        for doors in &self.doors {
            let mut patience = Patience::default();
            while doors.compare_exchange(0, u64::MAX, AcqRel, Relaxed).is_err() {
                patience.wait();
            }
        }
        AllDoors { page: self }
    }

    /// How many of its cells have ever been used since it was last divided.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Told after it was divided.
    pub(super) fn set_used(&self, used: usize) {
        self.used.store(used as u64, Relaxed);
        self.crowded.store(0, Relaxed);
    }

    /// Whether looking for room by moving keys about is in vain.
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded.load(Relaxed) != 0 || self.used() > MOST_USED
    }

    pub(super) fn set_crowded(&self) {
        self.crowded.store(1, Relaxed);
    }

    pub(super) fn use_another(&self) {
        self.used.fetch_add(1, Relaxed);
    }

    /// Counts a newcomer that finds the page full, and tells whose newcomers are most of late:
    /// the majority vote of Boyer and Moore, which needs one name and one count.
    pub(super) fn vote(&self, newcomer: Mark) -> Option<Mark> {
        let before = self.vote.load(Relaxed);
        let (mark, count) = (Mark::from_bits(before), before >> 32);
        let (mark, count) = match count {
            0 => (newcomer, 1),
            _ if mark == newcomer => (mark, (count + 1).min(MOST_VOTES)),
            _ => (mark, count - 1),
        };
        // Two that vote at once may count as one.
        self.vote.store(count << 32 | mark.bits(), Relaxed);
        (count >= A_FLOOD).then_some(mark)
    }
}

/// Fuller than this, more and more keys would be away from home.
const MOST_USED: u64 = (LINES * CELLS) as u64 * 7 / 8;
/// Enough to tell a flood from two rules that are about equally busy.
const A_FLOOD: u64 = 16;
/// So that a flood that is over is soon outvoted.
const MOST_VOTES: u64 = 4_096;

/// All doors of a page, closed to others.
#[derive(Debug)]
pub(super) struct AllDoors<'t> {
    page: &'t PageState,
}

impl Drop for AllDoors<'_> {
    fn drop(&mut self) {
        for doors in &self.page.doors {
            doors.store(0, Release);
        }
        self.page.closing.fetch_sub(1, Relaxed);
    }
}

/// The line where a key is looked for first.
#[inline]
pub(super) fn home_of(name: Fingerprint) -> usize {
    name.index() % LINES
}

/// Where the keys of a line may be found: in their home, else in the line beside it, else in
/// two lines elsewhere. A key is further on only if all lines before were full, and a line that
/// was full stays so until the page is divided.
pub(super) fn lines_of(name: Fingerprint) -> [usize; 4] {
    let bits = name.index();
    let home = home_of(name);
    let mut other = bits / LINES % LINES;
    if other / 2 == home / 2 {
        other ^= 2;
    }
    [home, home ^ 1, other, other ^ 1]
}
