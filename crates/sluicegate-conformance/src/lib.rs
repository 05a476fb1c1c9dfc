//! What every implementation must do, in one suite.
//!
//! A [`Subject`] is anything that decides sets at given times: the bare core, or a
//! [`Store`](sluicegate::Store) on a manual clock. [`replay`] puts the vectors to it,
//! [`walk`] the oracle's random walks. Two more add what only threads can show: [`races`],
//! whose outcome is known, and [`history`], which finds out whether whatever happened can be
//! explained.

#![forbid(unsafe_code)]
// A suite says what is wrong by panicking.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod history;
pub mod races;
pub mod replay;
pub mod subject;
pub mod walk;

pub use subject::{Bare, Driven, Subject};
