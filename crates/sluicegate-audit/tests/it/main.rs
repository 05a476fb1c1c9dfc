//! Whole traces: those of a correct limiter pass, and each violation is found.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod broken_traces;
mod cluster;
mod honest_traces;
mod outages;
mod streaming;
mod traced_run;
