//! Comparison of every answer of the real program with an exact model, on a driven clock.
//!
//! A case (`case.rs`) is a rule file, a store, one to three nodes and steps. The generator
//! (`generate`) creates cases from seeds, the model (`model`) predicts every answer, and the
//! runner (`run`) starts the program, moves the clock, sends the requests and compares. A case
//! that differs is shrunk (`shrink`) and written to a file that replays it.

#![forbid(unsafe_code)]
// For tests only: a harness that cannot start its servers panics.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]
// Generated and compared data has many flags, and texts are assembled piece by piece.
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
mod rule_file;
mod run;
mod shrink;
mod store;

pub use harness::{Finding, Harness, Summary};
