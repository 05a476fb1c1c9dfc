//! The memory store and its snapshots.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use sluicegate::{Autosave, Limiter, MemoryOptions, SaveReport, SnapshotWriteError};
use sluicegate_server::Snapshots;
use tracing::{debug, warn};

use crate::plural::counted;
use crate::serve::ServeSettings;

/// The result of the last snapshot.
type LastResult = Arc<Mutex<Option<Result<SaveReport, SnapshotWriteError>>>>;

/// The options of the memory store.
pub(crate) fn memory_options(settings: &ServeSettings) -> MemoryOptions {
    let options = MemoryOptions::new();
    match settings.memory_max {
        Some(max) => options.max_bytes(max),
        None => options,
    }
}

/// Builds a limiter on the memory store. Returns it with a line about the restored snapshot.
pub(crate) fn limiter(settings: &ServeSettings) -> Result<(Limiter, Option<String>)> {
    let options = memory_options(settings);
    let Some(path) = &settings.snapshot else {
        return Ok((Limiter::new(options.build()?), None));
    };
    let (store, restored) = options.restore(path)?;
    Ok((Limiter::new(store), Some(restored.to_string())))
}

/// A thread that saves snapshots until it is finished.
pub(crate) struct SnapshotTask {
    autosave: Autosave,
    path: PathBuf,
    last: LastResult,
}

impl SnapshotTask {
    /// Starts saving a snapshot every `every`.
    pub(crate) fn start(
        limiter: &Limiter,
        path: PathBuf,
        every: Duration,
        snapshots: &Snapshots,
    ) -> Result<Self> {
        let (last, snapshots) = (LastResult::default(), snapshots.clone());
        let result = Arc::clone(&last);
        let report = move |outcome: Result<SaveReport, SnapshotWriteError>| {
            match &outcome {
                Ok(SaveReport { counters, bytes, .. }) => debug!(counters, bytes, "snapshot taken"),
                Err(error) => warn!("{error}"),
            }
            snapshots.record(&outcome);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        };
        let autosave = Autosave::start(limiter, &path, every, report)
            .context("cannot start the snapshot thread")?;
        Ok(Self { autosave, path, last })
    }

    /// Saves a last snapshot. Returns a line about it.
    pub(crate) fn finish(self) -> Result<String> {
        let Self { autosave, path, last } = self;
        autosave.stop();
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let saved =
            last.context("cannot save the last snapshot: the snapshot thread has ended")??;
        let counters = counted(saved.counters, "counter");
        Ok(format!("saved {counters} in the snapshot {}", path.display()))
    }
}
