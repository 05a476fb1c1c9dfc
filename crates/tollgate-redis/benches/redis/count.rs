//! So many decisions and nothing else, for valgrind to count the instructions of.

use tollgate_testbed::Kind;

use crate::ground::Ground;
use crate::load::Asked;

/// Decides so many times, at first with the same number of callers as ever.
pub(crate) fn run(times: usize) {
    let ground = Ground::new(Kind::Redis, 1);
    let taken = ground.load(Asked::one(), 64, times);
    println!("{:.3} calls a decision", taken.trips());
}
