//! The runtime of the program itself.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::runtime::Builder;

/// Runs a future to its end on this thread: it looks after the store, the rules and signals, and
/// those that serve have threads of their own.
pub(crate) fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start what looks after the store")?.block_on(future)
}
