//! Puts entries in the order of their times, as far as they are not too far from it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::entry::Entry;
use crate::findings::{Violation, ViolationKind};

/// How many entries are held back until an earlier one can hardly come any more. Those who answer
/// at the same time write down what they answered a little out of order.
const HELD_BACK: usize = 65_536;

/// An entry, and where it was found.
#[derive(Debug)]
pub(super) struct Numbered {
    /// The how-manieth that was added.
    pub(super) count: u64,
    pub(super) file: Option<Arc<str>>,
    pub(super) line: u64,
    pub(super) entry: Entry,
}

impl Numbered {
    pub(super) fn counter(&self) -> (&str, &str) {
        (&self.entry.rule, &self.entry.key)
    }

    pub(super) fn violation(&self, kind: ViolationKind, what: String) -> Violation {
        Violation {
            kind,
            rule: self.entry.rule.clone(),
            key: self.entry.key.clone(),
            node: self.entry.node.clone(),
            at_us: self.entry.at,
            file: self.file.as_deref().map(str::to_owned),
            line: self.line,
            what,
        }
    }
}

/// By time, and then as they came.
#[derive(Debug)]
struct Waiting(Box<Numbered>);

impl Waiting {
    fn place(&self) -> (u64, u64) {
        (self.0.entry.at, self.0.count)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// Entries that are held back.
#[derive(Debug, Default)]
pub(super) struct Order {
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// The time of the last that was handed out.
    reached: u64,
}

impl Order {
    /// Holds an entry back, and hands out the earliest if there are enough; or the entry itself
    /// if its place has been passed already.
    pub(super) fn put(
        &mut self,
        numbered: Box<Numbered>,
    ) -> Result<Option<Box<Numbered>>, Box<Numbered>> {
        if numbered.entry.at < self.reached {
            return Err(numbered);
        }
        self.waiting.push(Reverse(Waiting(numbered)));
        Ok(if self.waiting.len() > HELD_BACK { self.take() } else { None })
    }

    /// The time of the last that was handed out.
    pub(super) const fn reached(&self) -> u64 {
        self.reached
    }

    /// Hands out the earliest.
    pub(super) fn take(&mut self) -> Option<Box<Numbered>> {
        let Reverse(Waiting(earliest)) = self.waiting.pop()?;
        self.reached = earliest.entry.at;
        Some(earliest)
    }
}
