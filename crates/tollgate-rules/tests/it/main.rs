//! What rule files promise, seen from outside.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod diagnostics;
mod files;
mod gate;
mod keys;
mod matching;
mod mutated;
mod planning;
mod policies;
mod random;
mod shadow;
