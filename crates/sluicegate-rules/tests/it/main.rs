//! Integration tests of rule files and of the rule limiter.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod callers;
mod costs;
mod descriptors;
mod diagnostics;
mod harness;
mod keys;
mod matching;
mod modes;
mod mutated_files;
mod overrides;
mod path_identities;
mod planning;
mod policies;
mod random;
mod reload;
mod repeated_values;
mod reservations;
mod response_settings;
mod rule_files;
mod scopes;
mod second_bursts;
mod store_settings;
mod tiers;
