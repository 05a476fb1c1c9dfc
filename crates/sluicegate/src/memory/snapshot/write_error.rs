//! The error of writing a snapshot.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The error of a snapshot that was not written.
#[derive(Debug)]
pub struct SnapshotWriteError {
    pub(super) path: PathBuf,
    /// Whether the file was renamed to its place.
    pub(super) placed: bool,
    pub(super) source: io::Error,
}

impl SnapshotWriteError {
    /// Returns the path of the snapshot.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for SnapshotWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, placed, source } = self;
        let path = path.display();
        if *placed {
            write!(
                f,
                "cannot make sure of the snapshot {path}: {source}; it is in place, but a loss of \
                 power could undo that"
            )
        } else {
            write!(
                f,
                "cannot write the snapshot {path}: {source}; what was there before is still in \
                 place"
            )
        }
    }
}

impl Error for SnapshotWriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
