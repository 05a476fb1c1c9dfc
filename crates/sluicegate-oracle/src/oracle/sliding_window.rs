//! The sliding window: counts per block, with the oldest block weighted or in full.

use std::borrow::Cow;

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId, Until};
use super::rule::{Rule, SLACK};
use crate::ratio::Ratio;

/// Counts of blocks, with the layout of the limit that wrote them.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    length: u64,
    slices: u64,
    /// Index and count, by index; no count is 0.
    counts: Vec<(u64, u64)>,
}

impl Blocks {
    fn newest(&self) -> Option<u64> {
        self.counts.last().map(|&(index, _)| index)
    }

    fn count(&self, index: u64) -> u64 {
        self.counts.iter().filter(|(at, _)| *at == index).map(|(_, count)| count).sum()
    }

    fn add(&mut self, index: u64, units: u64) {
        match self.counts.iter_mut().find(|(at, _)| *at == index) {
            Some((_, count)) => *count += units,
            None => self.counts.push((index, units)),
        }
        self.counts.sort_unstable();
    }
}

/// `amount` per `slices` blocks of `length` each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlidingWindow {
    amount: u64,
    length: u64,
    slices: u64,
    strict: bool,
    debt: bool,
    /// The resolution of time within a block, in microseconds.
    tick: u64,
}

impl SlidingWindow {
    /// A window of `period` cut into `slices`.
    pub(crate) fn new(amount: u64, period: u64, slices: u64, strict: bool, debt: bool) -> Self {
        assert!(slices > 0 && period.is_multiple_of(slices), "the slices must divide the period");
        let length = period / slices;
        // The share of the oldest block must stay countable: amount times ticks within 2^50.
        let mut tick = 1;
        while u128::from(amount) * u128::from(length / tick) > 1 << 50 {
            tick *= 10;
        }
        // A longer tick only helps if it divides the block.
        assert!(strict || length.is_multiple_of(tick), "no tick divides a block of {length}");
        SlidingWindow { amount, length, slices, strict, debt, tick }
    }

    /// Returns the blocks in the layout of this limit.
    fn read<'a>(&self, cell: &'a Cell, now: u64) -> Cow<'a, Blocks> {
        let fresh = Blocks { length: self.length, slices: self.slices, counts: Vec::new() };
        let Some(old) = &cell.blocks else { return Cow::Owned(fresh) };
        if (old.length, old.slices) == (self.length, self.slices) {
            return Cow::Borrowed(old);
        }
        let mut refiled = fresh;
        for &(index, count) in &old.counts {
            let (first, last) = (index * old.length, (index + 1) * old.length - 1);
            let time = last.min(now.max(first));
            refiled.add(time / self.length, count);
        }
        let oldest = (self.time(&refiled, now) / self.length).saturating_sub(self.slices);
        refiled.counts.retain(|&(index, _)| index >= oldest);
        Cow::Owned(refiled)
    }

    /// Returns the effective time for these blocks: not before the newest.
    fn time(&self, blocks: &Blocks, now: u64) -> u64 {
        blocks.newest().map_or(now, |newest| now.max(newest * self.length))
    }

    /// Returns the used part of the window.
    fn estimate(&self, blocks: &Blocks, now: u64) -> Ratio {
        let time = self.time(blocks, now);
        let block = time / self.length;
        let oldest = block - self.slices;
        let whole: u64 = (oldest + 1..=block).map(|index| blocks.count(index)).sum();
        let part = Ratio::whole(blocks.count(oldest));
        if self.strict {
            return Ratio::whole(whole) + part;
        }
        let ticks = self.length / self.tick;
        let elapsed = (time - block * self.length) / self.tick;
        Ratio::whole(whole) + part * Ratio::new(i128::from(ticks - elapsed), i128::from(ticks))
    }
}

impl Rule for SlidingWindow {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn charge_cap(&self) -> u64 {
        if self.debt { self.amount * 2 } else { self.amount }
    }

    fn used(&self, cell: &Cell, when: When) -> Ratio {
        self.estimate(&self.read(cell, when.now), when.now)
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        let Some(blocks) = &cell.blocks else { return };
        if blocks.newest().is_some_and(|newest| newest * blocks.length > when.now + SLACK) {
            let counts = vec![(when.now / self.length, self.amount)];
            cell.blocks = Some(Blocks { length: self.length, slices: self.slices, counts });
        }
        // Blocks with the layout of another quota are converted once: converted on every read,
        // counts in a block that has not ended would move on each time.
        let read = self.read(cell, when.now).into_owned();
        cell.blocks = (!read.counts.is_empty()).then_some(read);
    }

    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool {
        let used = self.estimate(&self.read(cell, when.now), when.now);
        used + Ratio::whole(units) <= Ratio::whole(cap)
    }

    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed {
        let mut blocks = self.read(cell, when.now).into_owned();
        let block = self.time(&blocks, when.now) / self.length;
        blocks.add(block, units);
        blocks.counts.retain(|&(index, _)| index + self.slices >= block);
        cell.blocks = Some(blocks);
        let until = Until::whole((block + self.slices + 1) * self.length);
        Filed { id, at: when.now.max(block * self.length), until }
    }

    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64 {
        let mut blocks = self.read(cell, when.now).into_owned();
        let index = receipt.filed.at / self.length;
        let given = units.min(blocks.count(index));
        if given > 0 {
            for (at, count) in &mut blocks.counts {
                if *at == index {
                    *count -= given;
                }
            }
            blocks.counts.retain(|&(_, count)| count > 0);
            cell.blocks = (!blocks.counts.is_empty()).then_some(blocks);
        }
        given
    }

    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64 {
        let mut blocks = self.read(cell, when.now).into_owned();
        let block = self.time(&blocks, when.now) / self.length;
        let mut given = 0;
        // Counts that have left the window are not refunded.
        for (_, count) in blocks.counts.iter_mut().rev().filter(|(at, _)| at + self.slices >= block)
        {
            let part = (units - given).min(*count);
            *count -= part;
            given += part;
        }
        blocks.counts.retain(|&(_, count)| count > 0);
        cell.blocks = (!blocks.counts.is_empty()).then_some(blocks);
        given
    }

    fn view(&self, cell: &Cell, when: When) -> View {
        let blocks = self.read(cell, when.now);
        let used = self.estimate(&blocks, when.now);
        let fresh_at = blocks.newest().map_or(0, |i| (i + self.slices + 1) * self.length);
        View {
            remaining: (Ratio::whole(self.amount) - used).floor_u64(),
            reset_after: fresh_at.saturating_sub(when.now),
        }
    }
}
