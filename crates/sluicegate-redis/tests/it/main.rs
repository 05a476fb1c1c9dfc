//! Integration tests of the store against real servers.

// Tests report failures by panicking, and figures by printing.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod access;
mod attempts;
mod auth_and_tls;
mod child_node;
mod cleanup;
mod clocks;
mod cluster;
mod coalescing;
mod concurrency;
mod conformance;
mod cross_slot_batches;
mod cross_slot_sets;
mod data_loss;
mod decided_by;
mod deny_cache;
mod deregistration;
mod failover;
mod failover_losses;
mod fake_sentinel;
mod fault_trial;
mod half_moved_slot;
mod harness;
mod leftover_keys;
mod long_queue;
mod lost_replies;
mod network_partition;
mod outages;
mod partial_outage;
mod races;
mod reconnect_storm;
mod refunds;
mod rollback;
mod secrets;
mod sentinel_lies;
mod server_errors;
mod strict;
