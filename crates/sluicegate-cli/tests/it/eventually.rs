//! A wait for another process, with a time limit.

use std::thread;
use std::time::{Duration, Instant};

/// The time limit, far above any wait here even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// Polls `look` until its result is `wanted`, and returns it.
#[allow(clippy::disallowed_methods, reason = "another process has its own time")]
pub(super) fn eventually<T: std::fmt::Display>(
    mut look: impl FnMut() -> T,
    wanted: impl Fn(&T) -> bool,
) -> T {
    let started = Instant::now();
    loop {
        let found = look();
        if wanted(&found) {
            return found;
        }
        assert!(started.elapsed() < TIMEOUT, "not within {TIMEOUT:?}; the last was: {found}");
        thread::sleep(PAUSE);
    }
}
