//! Whole traces: those of a correct limiter pass, and each broken promise is found.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod broken;
mod cluster;
mod honest;
mod outages;
mod run;
mod streaming;
