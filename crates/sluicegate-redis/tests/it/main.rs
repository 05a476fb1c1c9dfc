//! The store against real servers.

// Tests say what is wrong by panicking, and figures by printing.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod access;
mod asking;
mod attempts;
mod away;
mod chance;
mod child;
mod clocks;
mod cluster;
mod coalescing;
mod conformance;
mod denials;
mod deregistration;
mod endings;
mod failover;
mod fake_sentinel;
mod forgetting;
mod guarded;
mod half_moved;
mod hearsay;
mod isolation;
mod leftovers;
mod losses;
mod parted;
mod queued;
mod races;
mod refunds;
mod replies;
mod rollback;
mod scattered;
mod secrets;
mod several_slots;
mod slots;
mod stage;
mod storm;
mod strict;
mod trial;
mod unwell;
