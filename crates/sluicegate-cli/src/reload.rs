//! Reloading of rules when their file changes, without interrupting requests.
//!
//! Files are polled for their metadata: that detects a file that is saved in place, one that is
//! renamed over another and a symbolic link that is retargeted, on any file system.

mod apply;
mod consistent_load;
mod debounce;
mod file_stamps;

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use sluicegate::Store;

pub(crate) use self::apply::RuleReloader;
pub(crate) use self::consistent_load::LoadedRules;

/// The time between two polls.
///
/// A changed file is read after two equal polls, so that one that is saved in several steps is
/// complete. A later change has another timestamp on any file system whose timestamps are finer
/// than this.
const POLL_EVERY: Duration = Duration::from_millis(200);

/// A thread that watches a rule file until this is dropped.
#[derive(Debug)]
pub(crate) struct Reloader {
    requests: Sender<ReloadNow>,
}

/// A request to read the file now.
#[derive(Debug)]
struct ReloadNow;

impl Reloader {
    /// Starts the thread.
    pub(crate) fn start<S: Store>(mut rules: RuleReloader<S>) -> Result<Self> {
        let (requests, requested) = mpsc::channel();
        let watch = move || {
            loop {
                match requested.recv_timeout(POLL_EVERY) {
                    Ok(ReloadNow) => {
                        // One reload answers all pending requests.
                        while requested.try_recv().is_ok() {}
                        rules.reload();
                    }
                    Err(RecvTimeoutError::Timeout) => rules.poll(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        thread::Builder::new()
            .name("reload".to_owned())
            .spawn(watch)
            .context("cannot start the thread that watches the rule file")?;
        Ok(Self { requests })
    }

    /// Reads the file now, even if it has not changed.
    pub(crate) fn reload(&self) {
        // Cannot fail, because the thread runs until this is dropped.
        let _ = self.requests.send(ReloadNow);
    }
}
