//! The clock that all nodes of a case read.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The initial time: some day in 2026, in the middle of a second.
pub(crate) const START: u64 = 1_790_000_123_456_789;

/// A file that holds the time; nodes read it whenever they need the time.
#[derive(Debug)]
pub(crate) struct DrivenClock {
    file: File,
    path: PathBuf,
}

impl DrivenClock {
    pub(crate) fn at(folder: &Path, micros: u64) -> Self {
        let path = folder.join("clock");
        let file = File::create(&path).expect("the folder can be written to");
        let clock = Self { file, path };
        clock.set(micros);
        clock
    }

    pub(crate) fn set(&self, micros: u64) {
        self.file.write_all_at(&micros.to_le_bytes(), 0).expect("the clock can be written");
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
