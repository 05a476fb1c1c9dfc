//! Waiting for what another process is about to do, for so long and no longer.

use std::thread;
use std::time::{Duration, Instant};

/// Far more than anything here takes, on a machine that is busy with other things too.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// What `look` finds, as soon as it finds what is wanted.
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
        assert!(started.elapsed() < PATIENCE, "not within {PATIENCE:?}; the last was: {found}");
        thread::sleep(PAUSE);
    }
}
