//! A buffer that sorts nearly ordered entries by time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::findings::{Violation, ViolationKind};
use crate::trace::entry::TraceEntry;

/// The number of entries held back. Larger than the disorder caused by concurrent writers, so that
/// an earlier entry hardly ever arrives later.
const HELD_BACK: usize = 65_536;

/// An entry, with its position in the trace.
#[derive(Debug)]
pub(super) struct SequencedEntry {
    /// The sequence number.
    pub(super) count: u64,
    pub(super) file: Option<Arc<str>>,
    pub(super) line: u64,
    pub(super) entry: TraceEntry,
}

impl SequencedEntry {
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

/// Ordered by time, then by sequence number.
#[derive(Debug)]
struct BufferedEntry(Box<SequencedEntry>);

impl BufferedEntry {
    fn place(&self) -> (u64, u64) {
        (self.0.entry.at, self.0.count)
    }
}

impl PartialEq for BufferedEntry {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for BufferedEntry {}

impl PartialOrd for BufferedEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BufferedEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

/// The entries held back.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    waiting: BinaryHeap<Reverse<BufferedEntry>>,
    /// The time of the last entry returned.
    reached: u64,
}

impl ReorderBuffer {
    /// Adds an entry, and returns the earliest one if the buffer is full.
    ///
    /// An error returns the entry itself if later ones have already been returned.
    pub(super) fn put(
        &mut self,
        sequenced: Box<SequencedEntry>,
    ) -> Result<Option<Box<SequencedEntry>>, Box<SequencedEntry>> {
        if sequenced.entry.at < self.reached {
            return Err(sequenced);
        }
        self.waiting.push(Reverse(BufferedEntry(sequenced)));
        Ok(if self.waiting.len() > HELD_BACK { self.take() } else { None })
    }

    /// Returns the time of the last entry returned.
    pub(super) const fn reached(&self) -> u64 {
        self.reached
    }

    /// Removes and returns the earliest entry.
    pub(super) fn take(&mut self) -> Option<Box<SequencedEntry>> {
        let Reverse(BufferedEntry(earliest)) = self.waiting.pop()?;
        self.reached = earliest.entry.at;
        Some(earliest)
    }
}
