//! Gathering the counters of a page while others decide on them.

use std::io::{self, Write};

use sluicegate_core::Time;

use super::writer::Writer;
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::forget::Scales;
use crate::memory::hash::Fingerprint;
use crate::memory::slab::{CELLS, LINES};
use crate::memory::sync::{Acquire, Patience};
use crate::memory::table::Found;
use crate::memory::word::Word;

pub(super) struct Gather<'m, C> {
    store: &'m Memory<C>,
    now: Time,
    scales: Scales<'m>,
    /// What could be read in passing …
    ready: Vec<(Fingerprint, Word)>,
    /// … and who has to be waited for, or asked for its record.
    later: Vec<Fingerprint>,
}

impl<'m, C: Clock> Gather<'m, C> {
    pub(super) fn new(store: &'m Memory<C>, now: Time) -> Self {
        let (ready, later) = (Vec::with_capacity(LINES * CELLS), Vec::new());
        Self { store, now, scales: store.scales(now), ready, later }
    }

    /// Writes what there is in a page.
    pub(super) fn page(&mut self, page: usize, out: &mut Writer<impl Write>) -> io::Result<()> {
        self.copy(page);
        for (name, word) in self.ready.drain(..) {
            out.word(name, word);
        }
        for name in std::mem::take(&mut self.later) {
            self.ask(name, out);
            out.relieve()?;
        }
        // Before the next page is looked at: what is newer has to come later in the file.
        out.flush()
    }

    /// Copies a page as it is at one moment. Nobody comes or moves meanwhile, so nobody is
    /// missed. Nobody is waited for either: who has locked a word may be waiting for a door.
    fn copy(&mut self, page: usize) {
        let doors = self.store.table.slab.page(page).all_doors();
        for line in 0..LINES {
            for cell in self.store.table.line(page, line).cells() {
                let name = cell.name.load(Acquire);
                if name == 0 {
                    continue;
                }
                let (name, word) = (Fingerprint::new(name), cell.word());
                if !word.is_ready() {
                    self.later.push(name);
                } else if !self.scales.is_free(word) {
                    self.ready.push((name, word));
                }
            }
        }
        drop(doors);
    }

    /// Writes a counter that could not be read in passing, wherever it is by now.
    fn ask(&self, name: Fingerprint, out: &mut Writer<impl Write>) {
        let table = &self.store.table;
        let mut patience = Patience::default();
        // What can not be found through its door is not there any more.
        while let Some(Found { cell, word }) = table.find(name).or_else(|| table.door(name).find())
        {
            if word.is_ready() {
                if !self.scales.is_free(word) {
                    out.word(name, word);
                }
                return;
            }
            // Locked, because a state is out of its record while it is being decided on.
            if cell.lock(word) {
                let named = cell.is_named(name);
                if named && let Some(record) = word.record() {
                    self.store.records.read(record, |record| {
                        if record.fresh_at > self.now {
                            out.record(name, word.mark(), record);
                        }
                    });
                }
                cell.unlock(word);
                if named {
                    return;
                }
            }
            patience.wait();
        }
    }
}
