//! Loading of a rule file or folder with everything that it includes.

mod files;
mod include;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

pub use self::files::{DiskFiles, FileSource, InMemoryFiles};
use self::files::{LARGEST, lexical_normalize};
pub(crate) use self::files::{LARGEST_TABLE, reason};
use self::include::Included;
use sluicegate_yaml::{self, Environment};
use sluicegate_yaml::{Diagnostic, Diagnostics};
use sluicegate_yaml::{Node, Scalar};
use sluicegate_yaml::{SourceMap, SourceSpan};

/// The largest depth of includes.
const DEEPEST: usize = 8;
/// The largest number of files.
const MOST: usize = 1_000;

/// The result of loading.
pub(crate) struct Loaded {
    pub(crate) sources: SourceMap,
    /// The files that are valid YAML: the first one, then its includes in order of appearance.
    pub(crate) documents: Vec<Document>,
    pub(crate) diagnostics: Diagnostics,
    /// All files and folders that were looked up, including missing ones.
    pub(crate) paths: Vec<PathBuf>,
    /// The reason why the first file or folder could not be read.
    pub(crate) failure: Option<UnreadableFile>,
}

/// A file that is valid YAML.
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) root: Node,
}

/// The requested file or folder could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadableFile {
    path: PathBuf,
    reason: String,
}

impl UnreadableFile {
    /// Returns the requested path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for UnreadableFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` cannot be read: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for UnreadableFile {}

/// Reads the file, or all YAML files of the folder, with their includes.
pub(crate) fn load(path: &Path, files: &dyn FileSource, env: Environment<'_>) -> Loaded {
    let mut loading = Loading {
        files,
        env,
        seen: HashSet::new(),
        loaded: Loaded {
            sources: SourceMap::default(),
            documents: Vec::new(),
            diagnostics: Diagnostics::default(),
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
    files: &'a dyn FileSource,
    env: Environment<'a>,
    /// The normalized paths of the files that were read.
    seen: HashSet<PathBuf>,
    loaded: Loaded,
}

/// A file that is to be read.
struct QueuedFile {
    path: PathBuf,
    /// The number of includes that lead to it.
    depth: usize,
    /// The include, unless the file was requested itself.
    because: Option<IncludedBy>,
}

/// The place of an include, and its path as a message may repeat it.
#[derive(Clone)]
struct IncludedBy {
    span: SourceSpan,
    shown: String,
}

impl Loading<'_> {
    fn all(&mut self, path: &Path) -> Result<(), UnreadableFile> {
        let unreadable = |reason: String| UnreadableFile { path: path.to_owned(), reason };
        let first = if self.files.is_folder(path) {
            let found = include::yaml_files(path, self.files, &mut self.loaded.paths);
            found.map_err(unreadable)?
        } else {
            vec![path.to_owned()]
        };
        if first.is_empty() {
            return Err(unreadable("there is no `.yaml` or `.yml` file in it".to_owned()));
        }
        // A stack: the next file is the last one.
        let first = first.into_iter().rev();
        let mut waiting =
            first.map(|path| QueuedFile { path, depth: 0, because: None }).collect::<Vec<_>>();
        while let Some(next) = waiting.pop() {
            if self.seen.contains(&lexical_normalize(&next.path)) {
                continue;
            }
            if let Some(because) = next.because.as_ref().filter(|_| next.depth > DEEPEST) {
                let message = format!(
                    "includes are nested more than {DEEPEST} files deep; include the file further \
                     up"
                );
                self.report(because, message);
                continue;
            }
            if self.seen.len() == MOST {
                let message =
                    format!("there are more than {MOST} files; put several rules into one file");
                return match next.because {
                    Some(because) => {
                        self.report(&because, message);
                        Ok(())
                    }
                    None => Err(unreadable(message)),
                };
            }
            self.seen.insert(lexical_normalize(&next.path));
            waiting.extend(self.file(next)?.into_iter().rev());
        }
        Ok(())
    }

    /// Reads a file and returns its includes.
    fn file(&mut self, next: QueuedFile) -> Result<Vec<QueuedFile>, UnreadableFile> {
        let QueuedFile { path, depth, because } = next;
        self.loaded.paths.push(path.clone());
        let bytes = match (self.files.read(&path), because) {
            (Ok(bytes), _) => bytes,
            (Err(error), None) => return Err(UnreadableFile { path, reason: reason(&error) }),
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
        let Loaded { sources, diagnostics, .. } = &mut self.loaded;
        let name = path.display().to_string();
        if bytes.len() > LARGEST {
            let source = sources.add(name, "");
            let message =
                format!("the file is larger than {} MiB; split it with `include`", LARGEST >> 20);
            diagnostics.push(Diagnostic::error(
                SourceSpan::new(source, 0, 0),
                "too-large",
                message,
            ));
            return None;
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let source = sources.add(name, text);
                // The replacement character starts at the first invalid byte.
                let span = SourceSpan::new(source, at, at + char::REPLACEMENT_CHARACTER.len_utf8());
                let diagnostic =
                    Diagnostic::error(span, "not-utf8", "the file is not valid UTF-8 here");
                diagnostics.push(diagnostic.help("save the file with the encoding UTF-8"));
                return None;
            }
        };
        let source = sources.add(name, text);
        sluicegate_yaml::parse(source, sources.text(source), self.env, diagnostics)
    }

    /// Returns the files that `include` names; validation reports everything but paths.
    fn includes(&mut self, path: &Path, root: &Node, depth: usize) -> Vec<QueuedFile> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut next = Vec::new();
        for item in root.get("include").map_or(&[][..], Node::items) {
            let usable = |scalar: &&Scalar| !scalar.is_broken() && !scalar.text().is_empty();
            let Some(scalar) = item.scalar().filter(usable) else { continue };
            let because = IncludedBy { span: item.span, shown: scalar.shown() };
            let path = folder.join(scalar.text());
            match include::find(path, self.files, &mut self.loaded.paths) {
                Included::Files(found) => next.extend(found.into_iter().map(|path| {
                    let because = Some(because.clone());
                    QueuedFile { path, depth: depth + 1, because }
                })),
                Included::Nothing(message) => {
                    let diagnostic = Diagnostic::warning(item.span, "include", message);
                    self.loaded
                        .diagnostics
                        .push(diagnostic.help("put a file there, or remove it from `include`"));
                }
                Included::Wrong(reason) => {
                    self.report(&because, format!("`{}` cannot be read: {reason}", because.shown));
                }
            }
        }
        next
    }

    fn report(&mut self, because: &IncludedBy, message: String) {
        self.loaded.diagnostics.push(Diagnostic::error(because.span, "include", message));
    }
}
