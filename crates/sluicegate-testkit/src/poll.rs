//! Waiting, with a bound, for the progress of another process or thread.

use std::time::{Duration, Instant};

/// How long to wait for another process or thread before the test counts as stuck.
///
/// This bounds a hang and asserts nothing about speed, because machines can be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(2);

/// Returns once `condition` holds; panics with `what` on a timeout.
///
/// It blocks the thread: for a condition that depends on tasks of the same runtime use
/// [`wait_until_async`].
#[track_caller]
#[allow(clippy::disallowed_methods, reason = "another process has its own time")]
pub fn wait_until(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < timeout, "timed out after {timeout:?} waiting until {what}");
        std::thread::sleep(PAUSE);
    }
}

/// [`wait_until`] for a test on tokio: other tasks run in between.
#[allow(clippy::disallowed_methods, reason = "another process has its own time")]
pub async fn wait_until_async(
    what: &str,
    timeout: Duration,
    mut condition: impl AsyncFnMut() -> bool,
) {
    let begin = Instant::now();
    while !condition().await {
        assert!(begin.elapsed() < timeout, "timed out after {timeout:?} waiting until {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
