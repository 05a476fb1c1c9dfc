//! A rule file, with what it looked like before it was read.

use std::path::{Path, PathBuf};

use sluicegate_rules::{RuleFile, Unreadable};

use super::look::Look;

/// How often to begin anew while files turn up that were not looked at before.
const ROUNDS: usize = 8;

/// A rule file, with what it and all it includes looked like *before* they were read: what changes
/// meanwhile looks different the next time.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) file: Result<RuleFile, Unreadable>,
    /// What else to look at, beside the file.
    pub(super) watched: Vec<PathBuf>,
    pub(super) look: Look,
}

impl Reading {
    /// Reads a file for the first time.
    pub(crate) fn first(path: &Path) -> Self {
        Self::again(path, &[])
    }

    /// Reads a file of which it is known what else belongs to it.
    pub(super) fn again(path: &Path, known: &[PathBuf]) -> Self {
        let load = |path: &Path| RuleFile::load(path);
        Self::with(path, known, load, |paths| Look::at(paths))
    }

    fn with(
        path: &Path,
        known: &[PathBuf],
        mut load: impl FnMut(&Path) -> Result<RuleFile, Unreadable>,
        mut look_at: impl FnMut(&[PathBuf]) -> Look,
    ) -> Self {
        let mut paths = known.to_vec();
        paths.push(path.to_owned());
        let mut round = 1;
        loop {
            let look = look_at(&paths);
            let file = load(path);
            let mut watched = vec![path.to_owned()];
            match &file {
                Ok(file) => watched.extend(file.watched.iter().cloned()),
                // Which files belong to it is not known now; it may be those from before again.
                Err(unreadable) => {
                    watched.extend(known.iter().cloned());
                    watched.push(unreadable.path().to_owned());
                }
            }
            if look.covers(&watched) || round == ROUNDS {
                return Self { file, look: look.only(&watched), watched };
            }
            paths.extend(watched);
            round += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_rules::Shelf;

    use super::*;

    fn shelf() -> Shelf {
        Shelf::new()
            .with("rules.yaml", "include: [a.yaml]\n")
            .with("a.yaml", "include: [b.yaml]\n")
            .with("b.yaml", "rules: [{ name: b, key: ip, limit: 1/s }]\n")
    }

    /// Reads from a shelf: how often it was read, and the look that counts.
    fn read(path: &str, known: &[PathBuf]) -> (usize, Reading) {
        let mut rounds = 0;
        let load = |path: &Path| {
            rounds += 1;
            RuleFile::load_with(path, &shelf(), &|_| None)
        };
        let reading = Reading::with(Path::new(path), known, load, |paths| Look::at(paths));
        (rounds, reading)
    }

    #[test]
    fn all_that_belongs_to_it_was_looked_at_before_it_was_read() {
        let (rounds, first) = read("rules.yaml", &[]);
        assert_eq!(rounds, 2, "once to see what belongs to it, once after having looked at it");
        let mut paths: Vec<_> = first.look.paths().cloned().collect();
        paths.sort();
        assert_eq!(paths, ["a.yaml", "b.yaml", "rules.yaml"].map(PathBuf::from));

        let (rounds, again) = read("rules.yaml", &first.watched);
        assert_eq!((rounds, again.look), (1, first.look));
    }

    #[test]
    fn what_does_not_belong_to_it_any_more_is_let_go() {
        let (_, reading) = read("b.yaml", &["rules.yaml".into(), "a.yaml".into()]);
        assert_eq!(reading.look.paths().collect::<Vec<_>>(), [Path::new("b.yaml")]);
    }

    #[test]
    fn what_belonged_to_a_file_that_is_gone_stays_watched() {
        let (rounds, reading) = read("gone.yaml", &["a.yaml".into()]);
        assert!(reading.file.is_err());
        assert_eq!(rounds, 1);
        assert!(reading.look.covers(&["a.yaml".into(), "gone.yaml".into()]));
    }

    #[test]
    fn files_that_are_never_the_same_are_read_a_few_times_only() {
        let mut rounds = 0;
        let load = |_: &Path| {
            rounds += 1;
            let shelf = Shelf::new()
                .with("rules.yaml", format!("include: [{rounds}.yaml]\n"))
                .with(format!("{rounds}.yaml"), "");
            RuleFile::load_with(Path::new("rules.yaml"), &shelf, &|_| None)
        };
        let path = Path::new("rules.yaml");
        let reading = Reading::with(path, &[], load, |paths| Look::at(paths));
        assert!(!reading.look.covers(&reading.watched), "so that it is read again soon");
        assert_eq!(rounds, ROUNDS);
    }
}
