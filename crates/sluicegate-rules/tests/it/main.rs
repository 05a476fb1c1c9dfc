//! What rule files promise, seen from outside.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod callers;
mod costs;
mod descriptors;
mod diagnostics;
mod files;
mod gate;
mod keys;
mod matching;
mod modes;
mod mutated;
mod overrides;
mod path_identities;
mod planning;
mod policies;
mod random;
mod reload;
mod repeated;
mod reservations;
mod scopes;
mod second_bursts;
mod stores;
mod tiers;
mod told;
