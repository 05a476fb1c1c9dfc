//! Invariants of an idle store.

use std::collections::HashSet;

use super::harness::Harness;
use crate::clock::Clock;
use crate::memory::Memory;
use crate::memory::fingerprint::Fingerprint;
use crate::memory::overflow::OverflowArena;
use crate::memory::page_state::lines_of;
use crate::memory::pages::LINES;
use crate::memory::sync::Acquire;
use crate::memory::word::Word;

impl Harness {
    pub(super) fn assert_sound(&self) {
        let names = assert_cells(&self.store);
        assert_records(&self.store, &names);
    }
}

/// A cell that belongs to a key.
struct OccupiedCell {
    name: Fingerprint,
    word: Word,
}

/// Each fingerprint has one cell, where lookups find it. Nothing is locked.
fn assert_cells<C: Clock>(store: &Memory<C>) -> Vec<OccupiedCell> {
    let mut names = HashSet::new();
    let mut taken = Vec::new();
    for page in 0..store.table.page_count() {
        let before = taken.len();
        for line in 0..LINES {
            for cell in store.table.line(page, line).cells() {
                let (bits, word) = (cell.name.load(Acquire), cell.word());
                assert!(!word.is_locked(), "a word stays locked: {bits:x} {word:?}");
                if bits == 0 {
                    continue;
                }
                let name = Fingerprint::new(bits);
                assert!(names.insert(bits), "{bits:x} has two cells");
                assert_eq!(store.table.directory.page(name), page, "{bits:x} in another's page");
                assert!(lines_of(name).contains(&line), "{bits:x} in another's line");
                let found = store.table.find(name);
                assert!(found.is_some_and(|found| found.word == word), "{bits:x} is not found");
                taken.push(OccupiedCell { name, word });
            }
            let line_lock = store.table.slab.page(page).try_lock_line(line);
            assert!(line_lock.is_some(), "a line stays locked");
        }
        let used = store.table.slab.page(page).used();
        assert_eq!(used, (taken.len() - before) as u64, "cells in use, as they are counted");
    }
    taken
}

/// Each record belongs to one counter, or is free; their bytes are counted correctly.
fn assert_records<C: Clock>(store: &Memory<C>, cells: &[OccupiedCell]) {
    let mut numbers = HashSet::new();
    for OccupiedCell { name, word } in cells {
        let Some(record) = word.record() else { continue };
        assert!(numbers.insert(record), "two counters have record {record}");
        let owner = store.records.read(record, |record| record.owner);
        assert_eq!(owner, Some(Some(*name)), "a record belongs to whose word names it");
    }
    let mut bytes = 0;
    for record in 0.. {
        let read = store.records.read(record, |kept| (kept.owner, kept.state.heap_bytes()));
        let Some((owner, heap)) = read else { break };
        assert_eq!(owner.is_some(), numbers.contains(&record), "record {record} is in use");
        bytes += heap + OverflowArena::BYTES_EACH;
    }
    assert_eq!(store.records.bytes(), bytes, "bytes of records, as they are counted");
}
