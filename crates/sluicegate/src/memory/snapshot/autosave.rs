//! Periodic snapshots.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{SaveReport, SnapshotWriteError};
use crate::clock::Clock;
use crate::limiter::Limiter;
use crate::memory::Memory;
use crate::store::Store;

/// Saves a limiter's store periodically, and once more when it is stopped or dropped.
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Autosave, Limiter, MemoryOptions};
///
/// # let folder = std::env::temp_dir().join(format!("sluicegate-keeper-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("snapshot");
/// let (store, restored) = MemoryOptions::new().restore(&path)?;
/// println!("{restored}");
/// let limiter = Limiter::new(store);
/// let keeper = Autosave::start(&limiter, &path, Duration::from_secs(60), |outcome| {
///     if let Err(error) = outcome {
///         eprintln!("{error}"); // It tries again the next time.
///     }
/// })?;
/// // … serve …
/// keeper.stop();
/// assert!(path.exists());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Autosave {
    signal: Arc<StopSignal>,
    thread: Option<JoinHandle<()>>,
}

/// Signals the thread to stop.
#[derive(Debug, Default)]
struct StopSignal {
    rung: Mutex<bool>,
    stopped: Condvar,
}

impl StopSignal {
    fn notify(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stopped.notify_all();
    }

    /// Waits for the signal, for `at_most`; returns whether it was given.
    fn wait(&self, at_most: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.stopped.wait_timeout_while(rung, at_most, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Autosave {
    /// The shortest time between two saves.
    const LEAST: Duration = Duration::from_millis(1);

    /// The rest between two pages, whose copy takes a tenth of it.
    const LONGEST_REST: Duration = Duration::from_millis(1);

    /// Saves at an interval, on a thread of its own.
    ///
    /// `report` is called with the outcome of each save; a failed save is retried at the next
    /// interval.
    pub fn start<C: Clock>(
        limiter: &Limiter<Memory<C>>,
        path: impl Into<PathBuf>,
        every: Duration,
        report: impl Fn(Result<SaveReport, SnapshotWriteError>) + Send + 'static,
    ) -> io::Result<Self> {
        let (limiter, path, every) = (limiter.clone(), path.into(), every.max(Self::LEAST));
        let signal = Arc::new(StopSignal::default());
        let own = Arc::clone(&signal);
        let save_until_stopped = move || {
            let mut pause = every;
            loop {
                let stopped = own.wait(pause);
                let clock = limiter.store().clock();
                let began = clock.now();
                // To leave decisions undisturbed, the save mostly rests, except for the last one.
                let rest = |pages: usize| {
                    let share = every / 8 / u32::try_from(pages).unwrap_or(u32::MAX);
                    own.wait(share.min(Self::LONGEST_REST));
                };
                report(limiter.store().save_slowly(&path, rest));
                if stopped {
                    return;
                }
                // The interval spans from the first page of one snapshot to the end of the next, so
                // that a crash loses no more time than configured.
                let took = Duration::from(clock.now().since(began));
                pause = every.saturating_sub(took * 2).max(every / 4);
            }
        };
        let thread = thread::Builder::new().name("snapshots".into()).spawn(save_until_stopped)?;
        Ok(Self { signal, thread: Some(thread) })
    }

    /// Saves once more, and returns when that is done.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Autosave {
    fn drop(&mut self) {
        self.signal.notify();
        if let Some(thread) = self.thread.take() {
            // The thread ends early only if a report panicked, which has been printed then.
            let _ = thread.join();
        }
    }
}
