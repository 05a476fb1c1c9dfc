//! The store, and what is kept of it when the program ends.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use sluicegate::{Keeper, Limiter, MemoryOptions, Saved, SnapshotError};
use sluicegate_server::Snapshots;
use tracing::{debug, warn};

use crate::counted::counted;
use crate::serve::Settings;

/// What became of the last snapshot.
type Last = Arc<Mutex<Option<Result<Saved, SnapshotError>>>>;

/// How much memory counters may take.
pub(crate) fn memory_options(settings: &Settings) -> MemoryOptions {
    let options = MemoryOptions::new();
    match settings.memory_max {
        Some(max) => options.max_bytes(max),
        None => options,
    }
}

/// A limiter on the memory store, with what its snapshot has; and a line about that.
pub(crate) fn limiter(settings: &Settings) -> Result<(Limiter, Option<String>)> {
    let options = memory_options(settings);
    let Some(path) = &settings.snapshot else {
        return Ok((Limiter::new(options.build()?), None));
    };
    let (store, restored) = options.restore(path)?;
    Ok((Limiter::new(store), Some(restored.to_string())))
}

/// Takes snapshots until it is done.
pub(crate) struct Keeping {
    keeper: Keeper,
    path: PathBuf,
    last: Last,
}

impl Keeping {
    /// Takes a snapshot every so often.
    pub(crate) fn start(
        limiter: &Limiter,
        path: PathBuf,
        every: Duration,
        snapshots: &Snapshots,
    ) -> Result<Self> {
        let (last, snapshots) = (Last::default(), snapshots.clone());
        let own = Arc::clone(&last);
        let report = move |outcome: Result<Saved, SnapshotError>| {
            match &outcome {
                Ok(Saved { counters, bytes, .. }) => debug!(counters, bytes, "snapshot taken"),
                Err(error) => warn!("{error}"),
            }
            snapshots.tell(&outcome);
            *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        };
        let keeper = Keeper::start(limiter, &path, every, report)
            .context("cannot start the thread that takes snapshots")?;
        Ok(Self { keeper, path, last })
    }

    /// Takes a last snapshot; a line about it.
    pub(crate) fn finish(self) -> Result<String> {
        let Self { keeper, path, last } = self;
        keeper.stop();
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let saved = last.context("cannot take a last snapshot: the thread for it has ended")??;
        let counters = counted(saved.counters, "counter");
        Ok(format!("saved {counters} in the snapshot {}", path.display()))
    }
}
