//! A small store, threads that ask it, and what must be so afterwards.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use shuttle::thread;
use sluicegate_core::{Id, Receipt, Set};

use super::keys::{HASH_KEY, name};
use super::model::{Noted, is_explained};
use super::turn::{Answer, Asked, Receipts, Turn, peek};
use crate::clock::ManualClock;
use crate::memory::slab::CELLS;
use crate::memory::sync::Release;
use crate::memory::table::Table;
use crate::memory::word::Word;
use crate::memory::{Memory, MemoryOptions};

pub(super) struct Scene {
    pub(super) store: Memory<ManualClock>,
    pub(super) clock: ManualClock,
    noted: Mutex<Vec<Noted>>,
    /// Counts what begins and what ends.
    moments: AtomicUsize,
}

impl Scene {
    /// A store that may grow to so many pages.
    pub(super) fn with_pages(pages: usize) -> Self {
        Self::with_bytes((pages * Table::BYTES_PER_PAGE).div_ceil(3) * 4 + 4)
    }

    pub(super) fn with_bytes(bytes: usize) -> Self {
        let clock = ManualClock::default();
        let store = MemoryOptions::new().max_bytes(bytes).build_keyed(clock.clone(), HASH_KEY);
        Self { store, clock, noted: Mutex::default(), moments: AtomicUsize::new(0) }
    }

    /// Makes a cell of the first page one that nobody finds, claims or moves.
    pub(super) fn block(&self, line: usize, slot: usize) {
        let cell = &self.store.table.line(0, line).cells()[slot];
        cell.name.store(1 + (line * CELLS + slot) as u64, Release);
        cell.unlock(Word::EMPTY.locked());
        self.store.table.slab.page(0).use_another();
    }

    /// Asks these one after the other.
    pub(super) fn ask(&self, turns: &[Turn]) -> Vec<Answer> {
        let mut receipts = Receipts::default();
        let answers = turns.iter().map(|turn| {
            let answer = self.apply(turn, receipts.of(turn));
            receipts.keep(turn, &answer);
            answer
        });
        answers.collect()
    }

    /// Lets threads ask, each its own turns.
    pub(super) fn play<const N: usize>(&self, threads: [Vec<Turn>; N]) -> [Vec<Answer>; N] {
        self.play_beside(threads, || ())
    }

    /// Lets threads ask while something else goes on.
    pub(super) fn play_beside<const N: usize>(
        &self,
        threads: [Vec<Turn>; N],
        beside: impl FnOnce() + Send,
    ) -> [Vec<Answer>; N] {
        thread::scope(|scope| {
            let threads = threads.map(|turns| scope.spawn(move || self.ask(&turns)));
            scope.spawn(beside);
            threads.map(|thread| thread.join().unwrap())
        })
    }

    fn apply(&self, turn: &Turn, receipts: Vec<Option<Receipt>>) -> Answer {
        let begun = self.moments.fetch_add(1, Ordering::Relaxed);
        let id = Id::from_bits(begun as u128 + 1);
        let checks = turn.checks(&receipts);
        let mut decisions = vec![None; checks.len()];
        let applied = self.store.decide(&Set::all(&checks, id), &mut decisions);
        let answer = Answer { decisions, applied };
        let ended = self.moments.fetch_add(1, Ordering::Relaxed);
        let (turn, noted) = (turn.clone(), answer.clone());
        self.noted().push(Noted { turn, receipts, id, answer: noted, begun, ended });
        answer
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Noted>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing was forgotten, and all that was answered has one order.
    pub(super) fn assert_explained(&self) {
        assert_eq!(self.store.forgotten(), 0, "there was room for all");
        let mut counters: Vec<_> = self
            .noted()
            .iter()
            .flat_map(|noted| noted.turn.asked.iter().map(Asked::counter))
            .collect();
        counters.sort_by_key(|(limit, key)| name(limit, *key));
        counters.dedup_by_key(|(limit, key)| name(limit, *key));
        for (limit, key) in counters {
            self.ask(&[peek(limit, key)]);
        }
        let noted = self.noted();
        assert!(is_explained(&noted), "no order explains this: {noted:#?}");
    }
}
