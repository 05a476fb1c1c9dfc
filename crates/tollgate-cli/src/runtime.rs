//! The threads requests are served on.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::runtime::Builder;

/// Runs a future to its end, with a thread for each core.
pub(crate) fn run<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the threads to serve on")?.block_on(future)
}
