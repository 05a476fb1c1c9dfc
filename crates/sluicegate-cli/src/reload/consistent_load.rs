//! A rule file with its metadata from before it was read.

use std::path::{Path, PathBuf};

use sluicegate_rules::{RuleFile, UnreadableFile};

use super::file_stamps::FileStamps;

/// The largest number of attempts while new includes are found.
const MAX_ATTEMPTS: usize = 8;

/// A rule file with the metadata of it and its includes from *before* they were read.
///
/// A file that changes while it is read therefore differs at the next poll.
#[derive(Debug)]
pub(crate) struct LoadedRules {
    pub(crate) file: Result<RuleFile, UnreadableFile>,
    /// The paths to watch: the file, its includes and their folders.
    pub(super) watched: Vec<PathBuf>,
    pub(super) stamps: FileStamps,
}

impl LoadedRules {
    /// Reads a file for the first time.
    pub(crate) fn first(path: &Path) -> Self {
        Self::again(path, &[])
    }

    /// Reads a file again; `known` are the watched paths of the last time.
    pub(super) fn again(path: &Path, known: &[PathBuf]) -> Self {
        let load = |path: &Path| RuleFile::load(path);
        Self::with(path, known, load, |paths| FileStamps::at(paths))
    }

    fn with(
        path: &Path,
        known: &[PathBuf],
        mut load: impl FnMut(&Path) -> Result<RuleFile, UnreadableFile>,
        mut stamps_at: impl FnMut(&[PathBuf]) -> FileStamps,
    ) -> Self {
        let mut paths = known.to_vec();
        paths.push(path.to_owned());
        let mut attempt = 1;
        loop {
            let stamps = stamps_at(&paths);
            let file = load(path);
            let mut watched = vec![path.to_owned()];
            match &file {
                Ok(file) => watched.extend(file.watched.iter().cloned()),
                // The includes are unknown; keep those of the last time, which may come back.
                Err(unreadable) => {
                    watched.extend(known.iter().cloned());
                    watched.push(unreadable.path().to_owned());
                }
            }
            if stamps.covers(&watched) || attempt == MAX_ATTEMPTS {
                return Self { file, stamps: stamps.only(&watched), watched };
            }
            paths.extend(watched);
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_rules::InMemoryFiles;

    use super::*;

    fn files() -> InMemoryFiles {
        InMemoryFiles::new()
            .with("rules.yaml", "include: [a.yaml]\n")
            .with("a.yaml", "include: [b.yaml]\n")
            .with("b.yaml", "rules: [{ name: b, key: ip, limit: 1/s }]\n")
    }

    /// Reads from memory. Returns the number of attempts and the result.
    fn read(path: &str, known: &[PathBuf]) -> (usize, LoadedRules) {
        let mut attempts = 0;
        let load = |path: &Path| {
            attempts += 1;
            RuleFile::load_with(path, &files(), &|_| None)
        };
        let reading =
            LoadedRules::with(Path::new(path), known, load, |paths| FileStamps::at(paths));
        (attempts, reading)
    }

    #[test]
    fn includes_are_stamped_before_they_are_read() {
        let (attempts, first) = read("rules.yaml", &[]);
        assert_eq!(attempts, 2, "once to find the includes, once after stamping them");
        let mut paths: Vec<_> = first.stamps.paths().cloned().collect();
        paths.sort();
        assert_eq!(paths, ["a.yaml", "b.yaml", "rules.yaml"].map(PathBuf::from));

        let (attempts, again) = read("rules.yaml", &first.watched);
        assert_eq!((attempts, again.stamps), (1, first.stamps));
    }

    #[test]
    fn former_includes_are_not_watched() {
        let (_, reading) = read("b.yaml", &["rules.yaml".into(), "a.yaml".into()]);
        assert_eq!(reading.stamps.paths().collect::<Vec<_>>(), [Path::new("b.yaml")]);
    }

    #[test]
    fn includes_of_a_missing_file_stay_watched() {
        let (attempts, reading) = read("gone.yaml", &["a.yaml".into()]);
        assert!(reading.file.is_err());
        assert_eq!(attempts, 1);
        assert!(reading.stamps.covers(&["a.yaml".into(), "gone.yaml".into()]));
    }

    #[test]
    fn attempts_on_changing_includes_are_limited() {
        let mut attempts = 0;
        let load = |_: &Path| {
            attempts += 1;
            let files = InMemoryFiles::new()
                .with("rules.yaml", format!("include: [{attempts}.yaml]\n"))
                .with(format!("{attempts}.yaml"), "");
            RuleFile::load_with(Path::new("rules.yaml"), &files, &|_| None)
        };
        let path = Path::new("rules.yaml");
        let reading = LoadedRules::with(path, &[], load, |paths| FileStamps::at(paths));
        assert!(!reading.stamps.covers(&reading.watched), "so that it is read again soon");
        assert_eq!(attempts, MAX_ATTEMPTS);
    }
}
