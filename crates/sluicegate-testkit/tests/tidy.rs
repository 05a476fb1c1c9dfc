//! Rules for the source tree that no compiler checks. Each message says why the rule exists.
//!
//! `SLUICEGATE_WRITE=1 cargo test -p sluicegate-testkit --test tidy` records counts that have
//! fallen.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod tidy {
    mod algorithms;
    mod clock_reads;
    mod counts;
    mod facts;
    mod file_length;
    mod line_length;
    mod links;
    mod patches;
    mod ratchet;
    mod scanner;
    mod tree;
    mod words;
}
