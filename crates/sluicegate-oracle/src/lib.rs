//! The slow, obvious reference of every limit, which generates the test vectors.
//!
//! It shares no code with the decision core, on purpose: two independent implementations of the
//! same contract that agree on millions of steps are worth more than one tested against itself.

#![forbid(unsafe_code)]
// A contradictory trace is a mistake of its author, so the oracle panics.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

pub mod directed;
pub mod oracle;
pub mod random;
mod ratio;
pub mod text;
pub mod trace;

pub use oracle::Oracle;
