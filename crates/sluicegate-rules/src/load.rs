//! Reading a file or folder with everything it includes.

mod files;
mod include;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

pub use self::files::{Disk, Files, Shelf};
use self::files::{LARGEST, settled};
pub(crate) use self::files::{LARGEST_TABLE, reason};
use self::include::Included;
use crate::finding::{Finding, Findings};
use crate::node::{Node, Scalar};
use crate::source::{Sources, Span};
use crate::yaml::{self, Environment};

/// How far includes may lead from the first file.
const DEEPEST: usize = 8;
/// How many files may be read in all.
const MOST: usize = 1_000;

/// Everything that was read.
pub(crate) struct Loaded {
    pub(crate) sources: Sources,
    /// The files that are YAML: the first one, then what it includes in order of appearance.
    pub(crate) documents: Vec<Document>,
    pub(crate) findings: Findings,
    /// Every file and folder that was looked at, also those that are missing.
    pub(crate) paths: Vec<PathBuf>,
    /// Why there is nothing to begin with.
    pub(crate) failure: Option<Unreadable>,
}

/// One file.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) root: Node,
}

/// The file or folder that was asked for could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    path: PathBuf,
    reason: String,
}

impl Unreadable {
    /// What was asked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it could not be read.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` cannot be read: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for Unreadable {}

/// Reads the file, or all YAML files of the folder, and what they include.
pub(crate) fn load(path: &Path, files: &dyn Files, env: Environment<'_>) -> Loaded {
    let mut loading = Loading {
        files,
        env,
        seen: HashSet::new(),
        loaded: Loaded {
            sources: Sources::default(),
            documents: Vec::new(),
            findings: Findings::default(),
            paths: Vec::new(),
            failure: None,
        },
    };
    if let Err(failure) = loading.all(path) {
        loading.loaded.failure = Some(failure);
    }
    loading.loaded
}

struct Loading<'a> {
    files: &'a dyn Files,
    env: Environment<'a>,
    /// The files that were read, under their settled paths.
    seen: HashSet<PathBuf>,
    loaded: Loaded,
}

/// A file that is to be read because it is included.
struct Next {
    path: PathBuf,
    /// How many includes lead to it.
    depth: usize,
    /// The place of the include; none for what was asked for itself.
    because: Option<Because>,
}

/// Where a file is included, and the path as a message may repeat it.
#[derive(Clone)]
struct Because {
    span: Span,
    shown: String,
}

impl Loading<'_> {
    fn all(&mut self, path: &Path) -> Result<(), Unreadable> {
        let unreadable = |reason: String| Unreadable { path: path.to_owned(), reason };
        let first = if self.files.is_folder(path) {
            let found = include::yaml_files(path, self.files, &mut self.loaded.paths);
            found.map_err(unreadable)?
        } else {
            vec![path.to_owned()]
        };
        if first.is_empty() {
            return Err(unreadable("there is no `.yaml` or `.yml` file in it".to_owned()));
        }
        // The next one is at the end.
        let first = first.into_iter().rev();
        let mut waiting =
            first.map(|path| Next { path, depth: 0, because: None }).collect::<Vec<_>>();
        while let Some(next) = waiting.pop() {
            if self.seen.contains(&settled(&next.path)) {
                continue;
            }
            if let Some(because) = next.because.as_ref().filter(|_| next.depth > DEEPEST) {
                let message = format!("includes may lead {DEEPEST} files far, and this is further");
                self.report(because, message);
                continue;
            }
            if self.seen.len() == MOST {
                let message = format!("there are more than {MOST} files to read");
                return match next.because {
                    Some(because) => {
                        self.report(&because, message);
                        Ok(())
                    }
                    None => Err(unreadable(message)),
                };
            }
            self.seen.insert(settled(&next.path));
            waiting.extend(self.file(next)?.into_iter().rev());
        }
        Ok(())
    }

    /// Reads one file, and says what it includes.
    fn file(&mut self, next: Next) -> Result<Vec<Next>, Unreadable> {
        let Next { path, depth, because } = next;
        self.loaded.paths.push(path.clone());
        let bytes = match (self.files.read(&path), because) {
            (Ok(bytes), _) => bytes,
            (Err(error), None) => return Err(Unreadable { path, reason: reason(&error) }),
            (Err(error), Some(because)) => {
                let reason = reason(&error);
                self.report(&because, format!("`{}` cannot be read: {reason}", because.shown));
                return Ok(Vec::new());
            }
        };
        let Some(root) = self.text(&path, bytes) else { return Ok(Vec::new()) };
        let included = self.includes(&path, &root, depth);
        self.loaded.documents.push(Document { path, root });
        Ok(included)
    }

    fn text(&mut self, path: &Path, bytes: Vec<u8>) -> Option<Node> {
        let Loaded { sources, findings, .. } = &mut self.loaded;
        let name = path.display().to_string();
        if bytes.len() > LARGEST {
            let source = sources.add(name, "");
            let message = format!("the file is larger than {} MiB", LARGEST >> 20);
            findings.push(Finding::error(Span::new(source, 0, 0), "too-large", message));
            return None;
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let source = sources.add(name, text);
                // What stands for the broken bytes begins where they began.
                let span = Span::new(source, at, at + char::REPLACEMENT_CHARACTER.len_utf8());
                let finding = Finding::error(span, "not-utf8", "the file is not UTF-8 text here");
                findings.push(finding.help("save the file with the encoding UTF-8"));
                return None;
            }
        };
        let source = sources.add(name, text);
        yaml::parse(source, sources.text(source), self.env, findings)
    }

    /// The files that `include` names. Anything but paths is left to the check of the shape.
    fn includes(&mut self, path: &Path, root: &Node, depth: usize) -> Vec<Next> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut next = Vec::new();
        for item in root.get("include").map_or(&[][..], Node::items) {
            let usable = |scalar: &&Scalar| !scalar.is_broken() && !scalar.text().is_empty();
            let Some(scalar) = item.scalar().filter(usable) else { continue };
            let because = Because { span: item.span, shown: scalar.shown() };
            let path = folder.join(scalar.text());
            match include::find(path, self.files, &mut self.loaded.paths) {
                Included::Files(found) => next.extend(found.into_iter().map(|path| {
                    let because = Some(because.clone());
                    Next { path, depth: depth + 1, because }
                })),
                Included::Nothing(message) => {
                    let finding = Finding::warning(item.span, "include", message);
                    self.loaded
                        .findings
                        .push(finding.help("put a file there, or remove it from `include`"));
                }
                Included::Wrong(reason) => {
                    self.report(&because, format!("`{}` cannot be read: {reason}", because.shown));
                }
            }
        }
        next
    }

    fn report(&mut self, because: &Because, message: String) {
        self.loaded.findings.push(Finding::error(because.span, "include", message));
    }
}
