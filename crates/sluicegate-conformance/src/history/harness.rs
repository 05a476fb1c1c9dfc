//! A store, its clock, and the threads that call it concurrently.

use std::hint;
use std::panic;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use sluicegate::{Check, Clock, ManualClock, Set, Span, Store, Time};
use sluicegate_testkit::block_on;

use super::invocation::Invocation;
use super::script::{IssuedReceipt, PrecedingAction, ScriptedCall};
use crate::subject::apply_set;

/// A store, the right to advance its clock, and the tickets that order the calls.
#[derive(Debug)]
pub(super) struct SharedStore<S> {
    store: S,
    clock: ManualClock,
    /// Held by the one thread that advances the clock: two at once could set it back.
    hand: Mutex<()>,
    tickets: AtomicU64,
}

impl<S: Store> SharedStore<S> {
    pub(super) fn new(make: &mut impl FnMut(ManualClock) -> S) -> Self {
        let clock = ManualClock::default();
        let store = make(clock.clone());
        Self { store, clock, hand: Mutex::default(), tickets: AtomicU64::new(0) }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Runs each script on a thread of its own; all of them start together.
    pub(super) fn run<'a>(&self, scripts: Vec<Vec<ScriptedCall<'a>>>) -> Vec<Invocation<'a>> {
        let missing = &AtomicUsize::new(scripts.len());
        // Shared receipts, so that two threads can race for one.
        let kept = &Mutex::new(Vec::new());
        let mut operations: Vec<Invocation<'a>> = thread::scope(|scope| {
            let start = |(thread, turns): (usize, Vec<ScriptedCall<'a>>)| {
                scope.spawn(move || {
                    wait_for_all(missing);
                    let take = |turn| self.take(thread, turn, kept);
                    turns.iter().map(take).collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = scripts.into_iter().enumerate().map(start).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
            };
            threads.into_iter().flat_map(join).collect()
        });
        operations.sort_by_key(|operation| operation.invoked);
        operations
    }

    /// Executes one turn of a thread.
    fn take<'a>(
        &self,
        thread: usize,
        turn: &ScriptedCall<'a>,
        kept: &Mutex<Vec<IssuedReceipt<'a>>>,
    ) -> Invocation<'a> {
        match turn.before {
            PrecedingAction::Nothing => {}
            PrecedingAction::Yield => thread::yield_now(),
            PrecedingAction::Advance(by) => self.advance(by),
        }
        let checks = turn.checks(&lock(kept));
        let operation = self.invoke(thread, checks, turn.independent);
        let receipt = |(check, decision): (&Check<'a>, &Option<_>)| {
            decision.as_ref().and_then(sluicegate::Decision::receipt).map(|found| (*check, *found))
        };
        let receipts = operation.checks.iter().zip(&operation.decisions).filter_map(receipt);
        lock(kept).extend(receipts);
        operation
    }

    fn invoke<'a>(
        &self,
        thread: usize,
        checks: Vec<Check<'a>>,
        independent: bool,
    ) -> Invocation<'a> {
        let mut decisions = vec![None; checks.len()];
        let earliest = self.clock.now();
        let invoked = self.tickets.fetch_add(1, Ordering::SeqCst);
        let id = Invocation::id(invoked);
        let set = if independent { Set::independent(&checks, id) } else { Set::all(&checks, id) };
        let applied =
            block_on(apply_set(&self.store, &set, &mut decisions)).expect("the store answers");
        let returned = self.tickets.fetch_add(1, Ordering::SeqCst);
        let between = (earliest, self.clock.now());
        Invocation { thread, invoked, returned, between, checks, independent, applied, decisions }
    }

    fn advance(&self, by: Span) {
        let _hand = lock(&self.hand);
        self.clock.advance(by.into());
    }
}

/// Returns on all threads at the same time, as nearly as possible.
///
/// A barrier that puts threads to sleep would wake them one after the other.
fn wait_for_all(missing: &AtomicUsize) {
    const SPINS: u32 = 2_000;
    missing.fetch_sub(1, Ordering::SeqCst);
    let mut spins = 0;
    while missing.load(Ordering::SeqCst) > 0 {
        // With fewer cores than threads, yield the core.
        if spins < SPINS {
            hint::spin_loop();
        } else {
            thread::yield_now();
        }
        spins += 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
