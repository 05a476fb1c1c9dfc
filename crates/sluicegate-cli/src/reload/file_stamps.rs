//! Metadata that detects changes of files without reading them.

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The metadata of files and folders; `None` for a missing one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileStamps(BTreeMap<PathBuf, Option<FileStamp>>);

/// The metadata of one file or folder.
///
/// That of a folder changes when an entry is added, removed or renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    size: u64,
    identity: Identity,
    /// The path with all links resolved: a retargeted link is a change even if the other file has
    /// the same metadata.
    real: Option<PathBuf>,
}

/// The device, the inode and the time of the last status change.
///
/// Programs cannot set the status change time, while tools like `cp -p` set the modification time.
#[cfg(unix)]
type Identity = [i64; 4];
#[cfg(not(unix))]
type Identity = ();

impl FileStamps {
    /// Reads the metadata of these paths.
    pub(super) fn at<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| (path.clone(), stamp(path))).collect())
    }

    /// Whether all of these paths are included.
    pub(super) fn covers<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> bool {
        paths.into_iter().all(|path| self.0.contains_key(path))
    }

    /// The included paths.
    #[cfg(test)]
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.keys()
    }

    /// Keeps only these paths.
    pub(super) fn only(mut self, paths: &[PathBuf]) -> Self {
        self.0.retain(|path, _| paths.contains(path));
        self
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(FileStamp {
        modified: metadata.modified().ok(),
        size: metadata.len(),
        identity: identity(&metadata),
        real: fs::canonicalize(path).ok(),
    })
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;

    let [device, inode] = [metadata.dev(), metadata.ino()].map(u64::cast_signed);
    [device, inode, metadata.ctime(), metadata.ctime_nsec()]
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {}
