//! Saving a store again and again.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Saved, SnapshotError};
use crate::clock::Clock;
use crate::limiter::Limiter;
use crate::memory::Memory;
use crate::store::Store;

/// Saves a limiter's store again and again, and a last time when it is stopped or dropped.
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Keeper, Limiter, MemoryOptions};
///
/// # let folder = std::env::temp_dir().join(format!("sluicegate-keeper-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("snapshot");
/// let (store, restored) = MemoryOptions::new().restore(&path)?;
/// println!("{restored}");
/// let limiter = Limiter::new(store);
/// let keeper = Keeper::start(&limiter, &path, Duration::from_secs(60), |outcome| {
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
pub struct Keeper {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

/// Rings when it is time to stop.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.heard.notify_all();
    }

    /// Waits for the bell, so long at most; whether it has rung.
    fn wait(&self, at_most: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.heard.wait_timeout_while(rung, at_most, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Keeper {
    /// The least time between two saves.
    const LEAST: Duration = Duration::from_millis(1);

    /// Between two pages, whose copying takes a tenth of that.
    const LONGEST_REST: Duration = Duration::from_millis(1);

    /// Saves every so often, on a thread of its own. Each time, `report` is told what became of
    /// it; a save that failed is tried again when the next one is due.
    pub fn start<C: Clock>(
        limiter: &Limiter<Memory<C>>,
        path: impl Into<PathBuf>,
        every: Duration,
        report: impl Fn(Result<Saved, SnapshotError>) + Send + 'static,
    ) -> io::Result<Self> {
        let (limiter, path, every) = (limiter.clone(), path.into(), every.max(Self::LEAST));
        let bell = Arc::new(Bell::default());
        let own = Arc::clone(&bell);
        let save_until_stopped = move || {
            let mut pause = every;
            loop {
                let stopped = own.wait(pause);
                let clock = limiter.store().clock();
                let began = clock.now();
                // Those who ask shall not notice: most of the time it rests, but at the end.
                let rest = |pages: usize| {
                    let share = every / 8 / u32::try_from(pages).unwrap_or(u32::MAX);
                    own.wait(share.min(Self::LONGEST_REST));
                };
                report(limiter.store().save_slowly(&path, rest));
                if stopped {
                    return;
                }
                // From the first page of one snapshot to the end of the next: what is lost at
                // most shall be no more than was asked for.
                let took = Duration::from(clock.now().since(began));
                pause = every.saturating_sub(took * 2).max(every / 4);
            }
        };
        let thread = thread::Builder::new().name("snapshots".into()).spawn(save_until_stopped)?;
        Ok(Self { bell, thread: Some(thread) })
    }

    /// Saves a last time; back when that is done.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // It ends early only if a report panicked, which has been said then.
            let _ = thread.join();
        }
    }
}
