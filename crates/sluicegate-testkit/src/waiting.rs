//! Waiting, within bounds, for what another process or thread does in its own time.

use std::time::{Duration, Instant};

/// How long to wait for another process or thread before the test is stuck.
///
/// It bounds a hang and asserts nothing about speed: machines can be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(2);

/// Returns once `condition` holds; panics with `what` when it does not in time.
///
/// It blocks the thread: a condition that needs tasks of the same runtime to move on is for
/// [`wait_until_async`].
#[track_caller]
#[allow(clippy::disallowed_methods, reason = "another process has its own time")]
pub fn wait_until(what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < timeout, "waited {timeout:?} in vain until {what}");
        std::thread::sleep(PAUSE);
    }
}

/// [`wait_until`] for a test that runs on tokio: other tasks go on in between.
#[allow(clippy::disallowed_methods, reason = "another process has its own time")]
pub async fn wait_until_async(
    what: &str,
    timeout: Duration,
    mut condition: impl AsyncFnMut() -> bool,
) {
    let begin = Instant::now();
    while !condition().await {
        assert!(begin.elapsed() < timeout, "waited {timeout:?} in vain until {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
