//! The files of the source tree.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file and its path from the root, with `/`.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    /// The crate that the file belongs to.
    pub(super) fn package(&self) -> &str {
        let rest = self.path.strip_prefix("crates/").unwrap_or("");
        rest.split('/').next().filter(|name| !name.is_empty()).unwrap_or("root")
    }

    /// Whether it is compiled into a crate, other than as a test or a benchmark.
    pub(super) fn is_product(&self) -> bool {
        let of_tests = ["/tests", "/benches/", "fuzz/"];
        !of_tests.iter().any(|part| self.path.contains(part))
    }
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files with one of these extensions, sorted; generated code is left out.
pub(super) fn files(extensions: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root(), &root(), extensions, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty(), "no file found with {extensions:?}");
    found
}

fn collect(root: &Path, folder: &Path, extensions: &[&str], found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let skipped = ["target", ".git", "node_modules", "proto", "corpus"];
            if !skipped.contains(&name.as_str()) {
                collect(root, &path, extensions, found);
            }
        } else if extensions.iter().any(|extension| name.ends_with(&format!(".{extension}"))) {
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            // Files of other tests may be anything, even text in no encoding.
            if let Ok(text) = fs::read_to_string(&path) {
                found.push(Source { path: relative, text });
            }
        }
    }
}
