//! The mapping from fingerprints to pages.
//!
//! All fingerprints are divided into units of equal size, and each page has some consecutive
//! units. A full page is split into two equal parts; when its number of units is odd, all units
//! are halved first. Because fingerprints are evenly distributed, pages of equal size would all
//! fill up and be split at about the same time, and then all be half empty. So the first pages
//! have 3, 4 and 5 units: their descendants are split in turn, and the table is about equally full
//! at any size.
//!
//! Halving all units copies nothing: the entries of the new, finer level are empty at first, and
//! inherit the value of the coarser entry above them.

use std::sync::OnceLock;

use super::fingerprint::Fingerprint;
use super::sync::{AcqRel, Acquire, AtomicU32, AtomicUsize, Relaxed, Release};

/// The units of the first pages.
pub(super) const FIRST_PAGES: [usize; 3] = [3, 4, 5];
const FIRST_UNITS: usize = 12;

/// A page of average size has four to eight.
const MOST_UNITS_PER_PAGE: usize = 64;
/// Levels, each with twice the units of the one before: enough for more pages than fit anywhere.
const LEVELS: usize = 26;

#[derive(Debug)]
pub(super) struct PageDirectory {
    /// Coarsest level first; an entry is a page number plus one, or 0.
    levels: [OnceLock<Box<[AtomicU32]>>; LEVELS],
    /// The finest level that exists.
    finest: AtomicUsize,
}

/// The units of a page, numbered at some level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    first: usize,
    count: usize,
    level: usize,
}

impl PageDirectory {
    /// Creates a directory of the first pages, and returns their units.
    pub(super) fn new() -> (Self, Vec<Units>) {
        let levels = std::array::from_fn(|_| OnceLock::new());
        let directory = Self { levels, finest: AtomicUsize::new(0) };
        directory.allocate(0);
        let mut first = 0;
        let mut all = Vec::new();
        for (page, count) in FIRST_PAGES.into_iter().enumerate() {
            let units = Units { first, count, level: 0 };
            directory.enter(units, page);
            all.push(units);
            first += count;
        }
        (directory, all)
    }

    /// Returns the page of a fingerprint.
    #[inline]
    pub(super) fn page(&self, name: Fingerprint) -> usize {
        let level = self.finest.load(Acquire);
        let unit = unit(name, level);
        match self.level(level)[unit].load(Acquire) {
            0 => self.inherit(unit, level),
            entry => entry as usize - 1,
        }
    }

    #[inline]
    fn level(&self, level: usize) -> &[AtomicU32] {
        match self.levels[level].get() {
            Some(entries) => entries,
            None => unreachable!("a level is allocated before it is published"),
        }
    }

    fn allocate(&self, level: usize) {
        self.levels[level]
            .get_or_init(|| (0..FIRST_UNITS << level).map(|_| AtomicU32::new(0)).collect());
    }

    /// Looks up an empty entry in the levels above it, and fills it in.
    #[cold]
    fn inherit(&self, unit: usize, level: usize) -> usize {
        for above in 1..=level {
            let entry = self.level(level - above)[unit >> above].load(Acquire);
            if entry != 0 {
                // Fails where the page was split meanwhile; the split enters its units itself.
                let own = &self.level(level)[unit];
                return match own.compare_exchange(0, entry, AcqRel, Acquire) {
                    Ok(_) => entry as usize - 1,
                    Err(entered) => entered as usize - 1,
                };
            }
        }
        0
    }

    /// Returns the two halves of a page's units, halving all units where needed.
    ///
    /// `None` if they cannot be halved any more.
    pub(super) fn halves(&self, units: Units, pages: usize) -> Option<(Units, Units)> {
        let mut finest = self.finest.load(Relaxed);
        let mut units = units.at(finest);
        if units.count % 2 == 1 {
            finest += 1;
            // Fingerprints are evenly distributed: pages of such different sizes do not occur by
            // chance, and the directory has to stay small in comparison.
            if finest == LEVELS || FIRST_UNITS << finest > MOST_UNITS_PER_PAGE * pages {
                return None;
            }
            self.allocate(finest);
            self.finest.store(finest, Release);
            units = units.at(finest);
        }
        let half = units.count / 2;
        let lower = Units { count: half, ..units };
        let upper = Units { first: units.first + half, count: half, ..units };
        Some((lower, upper))
    }

    /// Enters a page for all of its units.
    pub(super) fn enter(&self, units: Units, page: usize) {
        let entry = u32::try_from(page + 1).unwrap_or(u32::MAX);
        for own in &self.level(units.level)[units.first..units.first + units.count] {
            own.store(entry, Release);
        }
    }
}

impl Units {
    /// Returns the same units at a finer level.
    fn at(self, level: usize) -> Self {
        let finer = level - self.level;
        Self { first: self.first << finer, count: self.count << finer, level }
    }

    /// Returns whether a fingerprint falls into these units.
    pub(super) fn has(self, name: Fingerprint) -> bool {
        (self.first..self.first + self.count).contains(&unit(name, self.level))
    }

    /// Returns about how many of `fingerprints` fall into these units.
    pub(super) fn part_of(self, fingerprints: u64) -> u64 {
        let part = u128::from(fingerprints) * self.count as u128 / self.all() as u128;
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// Returns the first fingerprint that falls into these units.
    pub(super) fn first(self) -> Fingerprint {
        Fingerprint::new((((self.first as u64) << 32).div_ceil(self.all() as u64)) << 32)
    }

    /// Returns the number of units at this level.
    fn all(self) -> usize {
        FIRST_UNITS << self.level
    }
}

#[inline]
fn unit(name: Fingerprint, level: usize) -> usize {
    // The upper half of the fingerprint as a fraction of all units.
    let unit = ((name.bits() >> 32) * ((FIRST_UNITS as u64) << level)) >> 32;
    #[allow(clippy::cast_possible_truncation, reason = "less than the number of units")]
    let unit = unit as usize;
    unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fingerprints over the whole range.
    fn names() -> impl Iterator<Item = Fingerprint> {
        (0..4_096).map(|at: u64| Fingerprint::new(at << 52 | 1 << 40))
    }

    #[test]
    fn every_fingerprint_has_the_page_whose_units_have_it() {
        let (directory, mut units) = PageDirectory::new();
        for round in 0..200 {
            let page = round * 7 % units.len();
            let new = units.len();
            let Some((lower, upper)) = directory.halves(units[page], new) else { continue };
            units[page] = lower;
            units.push(upper);
            directory.enter(upper, new);
            directory.enter(lower, page);
            // Not every time: entries that were not looked up at one level are inherited by the
            // next.
            if round % 3 == 0 {
                for name in names() {
                    assert!(units[directory.page(name)].has(name), "after {round} divisions");
                    assert_eq!(units.iter().filter(|units| units.has(name)).count(), 1);
                }
            }
        }
        assert!(units.len() > 50, "{} pages", units.len());
    }

    #[test]
    fn the_number_of_splits_is_bounded() {
        let (directory, units) = PageDirectory::new();
        let mut smallest = units[0];
        let mut divisions = 0;
        while let Some((lower, _)) = directory.halves(smallest, units.len() + divisions) {
            smallest = lower;
            divisions += 1;
        }
        assert!((4..=12).contains(&divisions), "{divisions} divisions");
    }
}
