//! Looks how long the machine lets somebody wait who has nothing to do but to look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tollgate::{Clock, SystemClock};
use tollgate_core::Span;

use super::let_pass;

/// Looks every millisecond, until it is told to stop.
pub(crate) struct Watchman {
    stop: Arc<AtomicBool>,
    looking: JoinHandle<Duration>,
}

impl Watchman {
    pub(crate) fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let looking = thread::spawn(move || {
            let (clock, mut longest) = (SystemClock::new(), Span::ZERO);
            while !told.load(Ordering::Relaxed) {
                let before = clock.now();
                let_pass(Duration::from_millis(1));
                longest = longest.max(clock.now().since(before));
            }
            longest.into()
        });
        Self { stop, looking }
    }

    /// The longest that it took until it could look again.
    pub(crate) fn end(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.looking.join().unwrap()
    }
}
