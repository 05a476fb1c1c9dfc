//! A small store, threads that use it, and the checks afterwards.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use shuttle::thread;
use sluicegate_core::{ChargeId, Receipt, Set};

use super::keys::{HASH_KEY, name};
use super::model::{RecordedStep, is_explained};
use super::step::{Receipts, Step, StepCheck, StepResult, peek};
use crate::clock::ManualClock;
use crate::memory::pages::CELLS;
use crate::memory::sync::Release;
use crate::memory::table::Table;
use crate::memory::word::Word;
use crate::memory::{Memory, MemoryOptions};

pub(super) struct Harness {
    pub(super) store: Memory<ManualClock>,
    pub(super) clock: ManualClock,
    noted: Mutex<Vec<RecordedStep>>,
    /// Numbers the starts and ends of steps.
    moments: AtomicU64,
}

impl Harness {
    /// A store that may grow to `pages` pages.
    pub(super) fn with_pages(pages: usize) -> Self {
        Self::with_bytes((pages * Table::BYTES_PER_PAGE).div_ceil(3) * 4 + 4)
    }

    pub(super) fn with_bytes(bytes: usize) -> Self {
        let clock = ManualClock::default();
        let store = MemoryOptions::new().max_bytes(bytes).build_keyed(clock.clone(), HASH_KEY);
        Self { store, clock, noted: Mutex::default(), moments: AtomicU64::new(0) }
    }

    /// Makes a cell of the first page unavailable for lookups, claims and moves.
    pub(super) fn block(&self, line: usize, slot: usize) {
        let cell = &self.store.table.line(0, line).cells()[slot];
        cell.name.store(1 + (line * CELLS + slot) as u64, Release);
        cell.unlock(Word::EMPTY.locked());
        self.store.table.slab.page(0).use_another();
    }

    /// Runs these steps one after the other.
    pub(super) fn run(&self, steps: &[Step]) -> Vec<StepResult> {
        let mut receipts = Receipts::default();
        let answers = steps.iter().map(|step| {
            let answer = self.apply(step, receipts.of(step));
            receipts.keep(step, &answer);
            answer
        });
        answers.collect()
    }

    /// Runs the threads, each with its own steps.
    pub(super) fn run_threads<const N: usize>(
        &self,
        threads: [Vec<Step>; N],
    ) -> [Vec<StepResult>; N] {
        self.run_beside(threads, || ())
    }

    /// Runs the threads concurrently with another task.
    pub(super) fn run_beside<const N: usize>(
        &self,
        threads: [Vec<Step>; N],
        beside: impl FnOnce() + Send,
    ) -> [Vec<StepResult>; N] {
        thread::scope(|scope| {
            let threads = threads.map(|steps| scope.spawn(move || self.run(&steps)));
            scope.spawn(beside);
            threads.map(|thread| thread.join().unwrap())
        })
    }

    fn apply(&self, step: &Step, receipts: Vec<Option<Receipt>>) -> StepResult {
        let begun = self.moments.fetch_add(1, Ordering::Relaxed);
        let id = ChargeId::from_bits(u128::from(begun) + 1);
        let checks = step.checks(&receipts);
        let mut decisions = vec![None; checks.len()];
        let applied = self.store.decide(&Set::all(&checks, id), &mut decisions);
        let answer = StepResult { decisions, applied };
        let ended = self.moments.fetch_add(1, Ordering::Relaxed);
        let (step, noted) = (step.clone(), answer.clone());
        self.noted().push(RecordedStep { step, receipts, id, answer: noted, begun, ended });
        answer
    }

    fn noted(&self) -> MutexGuard<'_, Vec<RecordedStep>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asserts that nothing was evicted and that some order explains all answers.
    pub(super) fn assert_explained(&self) {
        assert_eq!(self.store.forgotten(), 0, "there was room for all");
        let mut counters: Vec<_> = self
            .noted()
            .iter()
            .flat_map(|noted| noted.step.checks.iter().map(StepCheck::counter))
            .collect();
        counters.sort_by_key(|(limit, key)| name(limit, *key));
        counters.dedup_by_key(|(limit, key)| name(limit, *key));
        for (limit, key) in counters {
            self.run(&[peek(limit, key)]);
        }
        let noted = self.noted();
        assert!(is_explained(&noted), "no order explains this: {noted:#?}");
    }
}
