//! Compares every answer of the real program with an exact model, on a driven clock.
//!
//! A case (`case.rs`) is a rule file, a store, one to three nodes and steps. The generator (`generate`) makes
//! cases from seeds, the model (`model`) says what every answer has to be, and the runner (`run`) starts the
//! program, moves the clock, sends the requests and compares. A case that differs is made smaller (`shrink`)
//! and written as a file that replays it.

#![forbid(unsafe_code)]
// For tests only: a harness that cannot start its servers says so by panicking.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]
// Data as it is generated and compared: flags, and texts put together piece by piece.
#![allow(clippy::format_push_string, clippy::match_bool, clippy::similar_names)]
#![allow(clippy::struct_excessive_bools)]

mod case;
mod client;
mod clock;
mod compare;
mod edges;
mod expected;
mod generate;
mod harness;
mod model;
mod node;
mod rng;
mod rule_file;
mod run;
mod shrink;
mod store;

pub use harness::{Finding, Harness, Summary};
