//! The Tokio runtime of the main thread.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::runtime::Builder;

/// Runs a future to completion on this thread.
///
/// It drives the store, rule reloads and signals; server threads have their own runtimes.
pub(crate) fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the runtime of the main thread")?.block_on(future)
}
