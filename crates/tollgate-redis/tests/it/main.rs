//! The store against real servers.

// Tests say what is wrong by panicking, and figures by printing.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod access;
mod asking;
mod away;
mod chance;
mod child;
mod clocks;
mod coalescing;
mod conformance;
mod denials;
mod endings;
mod forgetting;
mod leftovers;
mod mixed;
mod parted;
mod races;
mod refunds;
mod replies;
mod secrets;
mod slots;
mod stage;
mod storm;
mod trial;
mod unwell;
