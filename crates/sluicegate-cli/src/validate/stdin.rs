//! A rule file on standard input.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sluicegate_rules::{DiskFiles, FileSource, RuleFile, UnreadableFile};

/// The name of standard input in reports.
const NAME: &str = "<stdin>";

/// A size that the loader rejects for any rule file, so reading may stop here.
const MAX_BYTES: u64 = 64 << 20;

/// Loads a rule file from standard input; its paths are relative to the current folder.
pub(super) fn load() -> Result<RuleFile, UnreadableFile> {
    let env = |name: &str| std::env::var(name).ok();
    RuleFile::load_with(Path::new(NAME), &StdinAndDisk, &env)
}

/// The files on disk, and standard input under [`NAME`].
struct StdinAndDisk;

impl FileSource for StdinAndDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path != Path::new(NAME) {
            return DiskFiles.read(path);
        }
        let mut bytes = Vec::new();
        io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        DiskFiles.list(folder)
    }

    fn is_folder(&self, path: &Path) -> bool {
        path != Path::new(NAME) && DiskFiles.is_folder(path)
    }
}
