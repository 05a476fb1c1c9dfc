//! Linearizability: some sequential order of the calls explains all answers of concurrent threads.
//!
//! In each round a few threads call a store on shared counters, while the clock advances, and
//! record every answer with the store's time. The right answers are not known beforehand. But a
//! store that decides each set in one atomic step did so in *some* order, and deciding the sets in
//! that order on the bare core gives exactly the same answers. So the checker searches for such an
//! order. It has to respect real time: a call that returned before another was invoked comes
//! before it.
//!
//! The times need not be in that order. A store may read its clock before its atomic step; the
//! answer then has to be right for its time, which lies within the call.

mod harness;
mod invocation;
mod pool;
mod report;
mod script;
pub mod search;
#[cfg(test)]
mod tests;

use sluicegate::{ManualClock, Store};

use self::harness::SharedStore;
use self::invocation::Invocation;
use self::pool::Pool;
use sluicegate_testkit::Rng;

/// Plays `rounds` rounds; panics at the first unexplained history and prints it.
///
/// The calls of the threads are the same each time, but their interleavings are not: more rounds
/// find more.
pub fn all<S: Store>(make: impl FnMut(ManualClock) -> S, rounds: usize) {
    if let Err(story) = explain_all(make, rounds) {
        panic!("{story}");
    }
}

fn explain_all<S: Store>(make: impl FnMut(ManualClock) -> S, rounds: usize) -> Result<(), String> {
    run_round(make, rounds, |round, operations| {
        explain(operations).map_err(|story| format!("round {round}: {story}"))
    })
}

/// Plays rounds and passes each history to `see`.
fn run_round<S: Store, E>(
    mut make: impl FnMut(ManualClock) -> S,
    rounds: usize,
    mut see: impl FnMut(usize, &[Invocation<'_>]) -> Result<(), E>,
) -> Result<(), E> {
    let limits = pool::limits();
    let mut venue = SharedStore::new(&mut make);
    for (round, seed) in (0..rounds).zip(0..) {
        let rng = &mut Rng::new(seed);
        // Sometimes a fresh store, sometimes one that has played other rounds.
        if rng.one_in(3) {
            venue = SharedStore::new(&mut make);
        }
        let keys = Pool::keys(round, rng);
        let pool = Pool::new(&limits, &keys, round, venue.now(), rng);
        let threads = 2 + rng.index(3);
        let scripts = (0..threads).map(|_| script::turns(&pool, rng)).collect();
        see(round, &venue.run(scripts))?;
    }
    Ok(())
}

/// Checks that some order explains these operations; the error describes the problem.
fn explain(operations: &[Invocation<'_>]) -> Result<(), String> {
    if let Some(index) = operations.iter().position(|operation| !operation.is_timely()) {
        return Err(report::untimely(operations, index));
    }
    let found = search::linearize(operations);
    found.map(|_| ()).map_err(|stuck| report::not_linearizable(operations, &stuck))
}
