//! The rule files of `tests/files`, loaded into memory.

use std::fs;
use std::path::{Path, PathBuf};

use sluicegate_rules::{InMemoryFiles, RuleFile};

/// A rule file, or a folder with a rule file and the files it uses.
pub(crate) struct Case {
    pub(crate) name: String,
    main: PathBuf,
    shelf: InMemoryFiles,
}

/// The folder of a kind of files.
pub(crate) fn folder(sort: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    match sort {
        "policies" => package.join("../../examples/policies"),
        sort => package.join("tests/files").join(sort),
    }
}

/// All cases of a kind, by name.
pub(crate) fn cases(sort: &str) -> Vec<Case> {
    let folder = folder(sort);
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let main = Path::new(&name).join("main.yaml");
            cases.push(Case { name, main, shelf: shelved(&path, &folder, InMemoryFiles::new()) });
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let main = PathBuf::from(format!("{name}.yaml"));
            let shelf = InMemoryFiles::new().with(&main, fs::read(&path).unwrap());
            cases.push(Case { name, main, shelf });
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// The example policies, each with the files next to it.
pub(crate) fn policies() -> Vec<Case> {
    let folder = folder("policies");
    let shelf = shelved(&folder, &folder, InMemoryFiles::new());
    let yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(yaml);
    let case = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Case { main: PathBuf::from(format!("{name}.yaml")), name, shelf: shelf.clone() }
    };
    let mut cases: Vec<Case> = paths.map(case).collect();
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

fn shelved(path: &Path, top: &Path, mut shelf: InMemoryFiles) -> InMemoryFiles {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        shelf = if path.is_dir() {
            shelved(&path, top, shelf)
        } else {
            shelf.with(path.strip_prefix(top).unwrap(), fs::read(&path).unwrap())
        };
    }
    shelf
}

/// The environment variables of the tests.
pub(crate) fn variable(name: &str) -> Option<String> {
    match name {
        "SLUICEGATE_SECRET" | "TOKEN_SECRET" => Some("0123456789abcdef0123456789abcdef".to_owned()),
        "SHORT_SECRET" => Some("tooshort".to_owned()),
        _ => None,
    }
}

impl Case {
    /// Loads the file.
    pub(crate) fn load(&self) -> RuleFile {
        RuleFile::load_with(&self.main, &self.shelf, &variable).unwrap()
    }

    /// Loads the file with another text instead of the main one.
    pub(crate) fn load_instead(
        &self,
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> RuleFile {
        let changed = self.shelf.clone().with(&self.main, text);
        RuleFile::load_with(&self.main, &changed, variable).unwrap()
    }

    /// The text of the main file.
    pub(crate) fn text(&self, sort: &str) -> String {
        String::from_utf8(fs::read(folder(sort).join(&self.main)).unwrap()).unwrap()
    }
}
