//! Collection of a page's counters concurrently with decisions.

use std::io::{self, Write};

use sluicegate_core::Time;

use super::writer::Writer;
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::eviction::EvictionWeight;
use crate::memory::fingerprint::Fingerprint;
use crate::memory::pages::{CELLS, LINES};
use crate::memory::sync::{Acquire, Backoff};
use crate::memory::table::FoundCell;
use crate::memory::word::Word;

pub(super) struct StateCollector<'m, C> {
    store: &'m Memory<C>,
    now: Time,
    weights: EvictionWeight<'m>,
    /// The counters that could be read without waiting …
    ready: Vec<(Fingerprint, Word)>,
    /// … and those that are locked or have a record.
    later: Vec<Fingerprint>,
}

impl<'m, C: Clock> StateCollector<'m, C> {
    pub(super) fn new(store: &'m Memory<C>, now: Time) -> Self {
        let (ready, later) = (Vec::with_capacity(LINES * CELLS), Vec::new());
        Self { store, now, weights: store.weights(now), ready, later }
    }

    /// Writes the counters of a page.
    pub(super) fn page(&mut self, page: usize, out: &mut Writer<impl Write>) -> io::Result<()> {
        self.copy(page);
        for (name, word) in self.ready.drain(..) {
            out.word(name, word);
        }
        for name in std::mem::take(&mut self.later) {
            self.write_locked(name, out);
            out.write_full()?;
        }
        // Before the next page is read: newer entries have to come later in the file.
        out.flush()
    }

    /// Copies a page as of one time.
    ///
    /// All line locks are held, so that no key is inserted or moved and none is missed. It does
    /// not wait for locked words, because their holders may be waiting for a line lock.
    fn copy(&mut self, page: usize) {
        let page_lock = self.store.table.slab.page(page).lock_all_lines();
        for line in 0..LINES {
            for cell in self.store.table.line(page, line).cells() {
                let name = cell.name.load(Acquire);
                if name == 0 {
                    continue;
                }
                let (name, word) = (Fingerprint::new(name), cell.word());
                if !word.is_ready() {
                    self.later.push(name);
                } else if !self.weights.is_free(word) {
                    self.ready.push((name, word));
                }
            }
        }
        drop(page_lock);
    }

    /// Writes a counter that could not be read without waiting, wherever it is by now.
    fn write_locked(&self, name: Fingerprint, out: &mut Writer<impl Write>) {
        let table = &self.store.table;
        let mut backoff = Backoff::default();
        // A key that is not found with its line locked does not exist any more.
        while let Some(FoundCell { cell, word }) =
            table.find(name).or_else(|| table.insert_slot(name).find())
        {
            if word.is_ready() {
                if !self.weights.is_free(word) {
                    out.word(name, word);
                }
                return;
            }
            // Locked, because a state is out of its record while it is being decided on.
            if cell.lock(word) {
                let named = cell.is_named(name);
                if named && let Some(record) = word.record() {
                    self.store.records.read(record, |record| {
                        if record.recovered_at > self.now {
                            out.record(name, word.limit_tag(), record);
                        }
                    });
                }
                cell.unlock(word);
                if named {
                    return;
                }
            }
            backoff.wait();
        }
    }
}
