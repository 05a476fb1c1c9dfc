//! The store against real servers.

// Tests say what is wrong by panicking, and figures by printing.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod access;
mod asking;
mod away;
mod chance;
mod conformance;
mod denials;
mod mixed;
mod replies;
mod stage;
mod trial;
