//! Sources of files: the disk, or memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// The largest rule file in bytes, because people write rule files by hand.
pub(crate) const LARGEST: usize = 16 << 20;
/// The largest table in bytes; larger than a rule file, because programs write tables.
pub(crate) const LARGEST_TABLE: usize = 64 << 20;

/// Access to files and folders.
pub trait FileSource {
    /// Returns the content of a file, which may be cut off above the largest accepted size.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Returns the paths of the entries of a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Whether the path is a folder.
    fn is_folder(&self, path: &Path) -> bool;
}

/// The files of the file system.
#[derive(Clone, Copy, Default, Debug)]
pub struct DiskFiles;

impl FileSource for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more shows that the file is too large, without reading all of it.
        File::open(path)?.take(LARGEST_TABLE as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }
}

/// Files in memory, for tests and for text from another source than a disk.
#[derive(Clone, Default, Debug)]
pub struct InMemoryFiles {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl InMemoryFiles {
    /// Returns an empty set of files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file and its folders.
    #[must_use]
    pub fn with(mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(lexical_normalize(path.as_ref()), content.into());
        self
    }
}

impl FileSource for InMemoryFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files
            .get(&lexical_normalize(path))
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let inside = lexical_normalize(folder);
        let names = self.files.keys().filter_map(|path| {
            let rest = path.strip_prefix(&inside).ok()?;
            rest.components().next().map(|name| folder.join(name))
        });
        let mut names = names.collect::<Vec<_>>();
        names.dedup();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names) }
    }

    fn is_folder(&self, path: &Path) -> bool {
        let path = lexical_normalize(path);
        self.files.keys().any(|file| *file != path && file.starts_with(&path))
    }
}

/// Normalizes a path, so that a file is recognised under different paths.
pub(super) fn lexical_normalize(path: &Path) -> PathBuf {
    let mut lexical_normalize = PathBuf::new();
    for part in path.components() {
        let named =
            matches!(lexical_normalize.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if named => {
                lexical_normalize.pop();
            }
            part => lexical_normalize.push(part),
        }
    }
    lexical_normalize
}

/// Describes why a file could not be read.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}
