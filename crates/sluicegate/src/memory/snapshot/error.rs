//! Why a snapshot was not written.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A snapshot that was not written.
#[derive(Debug)]
pub struct SnapshotError {
    pub(super) path: PathBuf,
    /// Whether it got as far as its place.
    pub(super) placed: bool,
    pub(super) source: io::Error,
}

impl SnapshotError {
    /// Where it was to be.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for SnapshotError {
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

impl Error for SnapshotError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
