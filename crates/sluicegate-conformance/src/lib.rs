//! The conformance suite of every store.
//!
//! A [`Subject`] decides sets at given times: the bare core, or a [`Store`](sluicegate::Store) on
//! a manual clock. [`replay`] runs the vectors on it, [`walk`] the oracle's random walks. Two more
//! modules test concurrency: [`races`], with known outcomes, and [`history`], which checks that
//! any outcome is linearizable.

#![forbid(unsafe_code)]
// The suite reports failures by panicking.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod history;
pub mod limits;
pub mod races;
pub mod replay;
pub mod subject;
pub mod walk;

pub use subject::{ManualClockStore, MapStore, Subject};
