//! A file that replaces another one only when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of saves that this process has started.
static BEGUN: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct AtomicFile<'a> {
    file: File,
    /// `None` once it has been renamed.
    path: Option<PathBuf>,
    place: &'a Path,
}

impl<'a> AtomicFile<'a> {
    /// Creates an empty file beside `place`, readable by its owner only.
    pub(super) fn create(place: &'a Path) -> io::Result<Self> {
        let Some(name) = place.file_name() else {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the path names no file"));
        };
        loop {
            let mut aside = name.to_owned();
            let begun = BEGUN.fetch_add(1, Ordering::Relaxed);
            aside.push(format!(".{}-{begun}.new", process::id()));
            let aside = place.with_file_name(aside);
            match open(&aside) {
                // Left behind by a killed process with our process id, or not created by us.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                opened => return Ok(Self { file: opened?, path: Some(aside), place }),
            }
        }
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Replaces the target by this file.
    pub(super) fn put_in_place(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(path) = &self.path {
            fs::rename(path, self.place)?;
            self.path = None;
        }
        Ok(())
    }
}

impl Drop for AtomicFile<'_> {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The earlier error is the one to report.
            let _ = fs::remove_file(path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Syncs the directory, so that the rename survives a loss of power.
pub(super) fn make_last(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
