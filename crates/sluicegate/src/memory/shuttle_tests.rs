//! Tests of the memory store under chosen interleavings.
//!
//! Under `--cfg shuttle` another thread may run at every access to an atomic or a lock, and a run
//! is repeated under thousands of schedules. Pages have only a few lines, so that few keys fill
//! one. A run with a deadlock, or whose answers no sequential order explains, fails and prints its
//! schedule.

// Clippy recognises tests by `cfg(test)` single.
#![allow(clippy::unwrap_used)]

mod cell_reuse;
mod eviction;
mod harness;
mod insert;
mod invariants;
mod keys;
mod limits;
mod model;
mod overflow;
mod relocate;
mod runner;
mod scheduler;
mod sets;
mod snapshot;
mod split;
mod step;
