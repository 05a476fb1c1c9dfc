//! Rules that are replaced when their file changes, while requests are answered.
//!
//! Files are looked at again and again, from outside: that notices a file that is saved in place,
//! one that is renamed over another and a link that is turned elsewhere, on any file system.

mod follower;
mod look;
mod reading;
mod watch;

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use sluicegate::Store;

pub(crate) use self::follower::Follower;
pub(crate) use self::reading::Reading;

/// How often to look. A file is read once it looked the same twice, so one that is saved in several
/// steps is read when it is done; and a change after that has another time on any file system whose
/// times are finer than this.
const EVERY: Duration = Duration::from_millis(200);

/// A thread that follows a rule file until this is dropped.
#[derive(Debug)]
pub(crate) struct Reloader {
    calls: Sender<Call>,
}

/// Somebody wants the file to be read now.
#[derive(Debug)]
struct Call;

impl Reloader {
    /// Follows a rule file from now on.
    pub(crate) fn start<S: Store>(mut follower: Follower<S>) -> Result<Self> {
        let (calls, called) = mpsc::channel();
        let follow = move || {
            loop {
                match called.recv_timeout(EVERY) {
                    Ok(Call) => {
                        // Who calls twice before it is heard wants the same.
                        while called.try_recv().is_ok() {}
                        follower.reload();
                    }
                    Err(RecvTimeoutError::Timeout) => follower.look(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        thread::Builder::new()
            .name("reload".to_owned())
            .spawn(follow)
            .context("cannot start the thread that follows the rule file")?;
        Ok(Self { calls })
    }

    /// Reads the file now, whether it has changed or not.
    pub(crate) fn reload(&self) {
        // The thread ends after this only.
        let _ = self.calls.send(Call);
    }
}
