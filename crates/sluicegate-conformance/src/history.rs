//! Histories: what threads were answered at once, one order of one after the other explains.
//!
//! In each round a few threads ask a store about counters they share, while the clock moves
//! on, and note down every answer with the time at which the store gave it. Nobody can say
//! beforehand which answers are right. But a store that decides each set in one atomic step
//! did so in *some* order, and deciding the sets in that order on the bare core gives exactly
//! the same answers. So the checker looks for such an order. It has to keep to real time: who
//! was answered before another asked comes before the other.
//!
//! Times need not be in that order. A store may read its clock before it takes its turn; the
//! answer then has to be right for the time it says, which lies within the call.

mod dice;
mod operation;
mod pool;
mod script;
mod search;
mod story;
#[cfg(test)]
mod tests;
mod venue;

use sluicegate::{ManualClock, Store};

use self::dice::Dice;
use self::operation::Operation;
use self::pool::Pool;
use self::venue::Venue;

/// Plays so many rounds; panics at the first that no order explains, with its history.
///
/// What the threads ask is the same each time, but not in which moments they meet: more
/// rounds find what fewer did not.
pub fn all<S: Store>(make: impl FnMut(ManualClock) -> S, rounds: usize) {
    if let Err(story) = explain_all(make, rounds) {
        panic!("{story}");
    }
}

fn explain_all<S: Store>(make: impl FnMut(ManualClock) -> S, rounds: usize) -> Result<(), String> {
    play(make, rounds, |round, operations| {
        explain(operations).map_err(|story| format!("round {round}: {story}"))
    })
}

/// Plays rounds and shows each history to `see`.
fn play<S: Store, E>(
    mut make: impl FnMut(ManualClock) -> S,
    rounds: usize,
    mut see: impl FnMut(usize, &[Operation<'_>]) -> Result<(), E>,
) -> Result<(), E> {
    let limits = pool::limits();
    let mut venue = Venue::new(&mut make);
    for (round, seed) in (0..rounds).zip(0..) {
        let dice = &mut Dice::new(seed);
        // Now a fresh store, now one that has seen other rounds.
        if dice.one_in(3) {
            venue = Venue::new(&mut make);
        }
        let keys = Pool::keys(round, dice);
        let pool = Pool::new(&limits, &keys, round, venue.now(), dice);
        let threads = dice.between(2, 4);
        let scripts = (0..threads).map(|_| script::turns(&pool, dice)).collect();
        see(round, &venue.play(scripts))?;
    }
    Ok(())
}

/// Whether some order explains these operations; if not, why.
fn explain(operations: &[Operation<'_>]) -> Result<(), String> {
    if let Some(index) = operations.iter().position(|operation| !operation.is_timely()) {
        return Err(story::untimely(operations, index));
    }
    let found = search::linearize(operations);
    found.map(|_| ()).map_err(|stuck| story::stuck(operations, &stuck))
}
