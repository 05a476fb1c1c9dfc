//! Where files come from: the disk, or a shelf in memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// A rule file is written by people; what is larger is something else.
pub(crate) const LARGEST: usize = 16 << 20;
/// What a rule file names, such as a table of callers, may be written by a program.
pub(crate) const LARGEST_TABLE: usize = 64 << 20;

/// Access to files and folders.
pub trait Files {
    /// The content of a file. It may be cut off once it is longer than any file may be.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The paths of what lies in a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Whether there is a folder at the path.
    fn is_folder(&self, path: &Path) -> bool;
}

/// The files of the machine.
#[derive(Clone, Copy, Default, Debug)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more tells that it is too large, without reading all of it.
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

/// Files in memory, for tests and for text that does not come from a disk.
#[derive(Clone, Default, Debug)]
pub struct Shelf {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Shelf {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file on it; its folders come with it.
    #[must_use]
    pub fn with(mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(settled(path.as_ref()), content.into());
        self
    }
}

impl Files for Shelf {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(&settled(path)).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let inside = settled(folder);
        let names = self.files.keys().filter_map(|path| {
            let rest = path.strip_prefix(&inside).ok()?;
            rest.components().next().map(|name| folder.join(name))
        });
        let mut names = names.collect::<Vec<_>>();
        names.dedup();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names) }
    }

    fn is_folder(&self, path: &Path) -> bool {
        let path = settled(path);
        self.files.keys().any(|file| *file != path && file.starts_with(&path))
    }
}

/// The path without detours, to recognise a file that is reached in two ways.
pub(super) fn settled(path: &Path) -> PathBuf {
    let mut settled = PathBuf::new();
    for part in path.components() {
        let named = matches!(settled.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if named => {
                settled.pop();
            }
            part => settled.push(part),
        }
    }
    settled
}

/// Why a file could not be read, in plain words.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "reading it is not permitted".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}
