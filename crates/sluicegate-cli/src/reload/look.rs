//! What files look like from outside, without reading them.

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What some files and folders look like; what is not there looks like that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Look(BTreeMap<PathBuf, Option<Seen>>);

/// What one file or folder looks like. A folder changes when something in it is added, removed or
/// renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    modified: Option<SystemTime>,
    size: u64,
    file: Identity,
    /// Where the path leads, with all links followed: a link that is turned elsewhere is a change
    /// even if the other file is the same in all else.
    real: Option<PathBuf>,
}

/// Which file it is, and when anything about it last changed: nobody can set that time back, while
/// tools like `cp -p` set that of the last write.
#[cfg(unix)]
type Identity = [i64; 4];
#[cfg(not(unix))]
type Identity = ();

impl Look {
    /// What these look like now.
    pub(super) fn at<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        Self(paths.into_iter().map(|path| (path.clone(), seen(path))).collect())
    }

    /// Whether all of these were looked at.
    pub(super) fn covers<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> bool {
        paths.into_iter().all(|path| self.0.contains_key(path))
    }

    /// What was looked at.
    #[cfg(test)]
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.keys()
    }

    /// The same without what is not among these.
    pub(super) fn only(mut self, paths: &[PathBuf]) -> Self {
        self.0.retain(|path, _| paths.contains(path));
        self
    }
}

fn seen(path: &Path) -> Option<Seen> {
    let metadata = fs::metadata(path).ok()?;
    Some(Seen {
        modified: metadata.modified().ok(),
        size: metadata.len(),
        file: identity(&metadata),
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
