//! Tests of every way to replace a file.

use std::fs::File;
use std::os::unix::fs::symlink;

use super::*;

/// A folder with one file, removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("sluicegate-look-{test}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        fs::write(folder.at("file"), "one").unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Whether a change alters the metadata of a path.
    fn changes(&self, name: &str, change: impl FnOnce(&Self)) -> bool {
        let before = FileStamps::at([&self.at(name)]);
        assert_eq!(
            before,
            FileStamps::at([&self.at(name)]),
            "the metadata is stable before the change"
        );
        change(self);
        before != FileStamps::at([&self.at(name)])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies the modification time of another file, as `cp -p` and `mv` do.
fn same_time(file: &Path, as_of: &Path) {
    let time = fs::metadata(as_of).unwrap().modified().unwrap();
    File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn detects_a_new_size() {
    let folder = Folder::new("size");
    assert!(folder.changes("file", |folder| {
        let time = fs::metadata(folder.at("file")).unwrap().modified().unwrap();
        fs::write(folder.at("file"), "three").unwrap();
        File::open(folder.at("file")).unwrap().set_modified(time).unwrap();
    }));
}

#[test]
fn detects_a_renamed_file_of_the_same_size_and_time() {
    let folder = Folder::new("renamed");
    assert!(folder.changes("file", |folder| {
        fs::write(folder.at("new"), "two").unwrap();
        same_time(&folder.at("new"), &folder.at("file"));
        fs::rename(folder.at("new"), folder.at("file")).unwrap();
    }));
}

#[test]
fn detects_a_retargeted_link() {
    let folder = Folder::new("link");
    for name in ["one", "two"] {
        fs::create_dir(folder.at(name)).unwrap();
        // The same file in both, so that only the resolved path differs.
        fs::hard_link(folder.at("file"), folder.at(name).join("file")).unwrap();
    }
    symlink("one", folder.at("data")).unwrap();
    assert!(folder.changes("data/file", |folder| {
        symlink("two", folder.at("new")).unwrap();
        fs::rename(folder.at("new"), folder.at("data")).unwrap();
    }));
}

#[test]
fn detects_created_and_removed_files() {
    let folder = Folder::new("gone");
    assert!(folder.changes("new", |folder| fs::write(folder.at("new"), "").unwrap()));
    assert!(folder.changes("new", |folder| fs::remove_file(folder.at("new")).unwrap()));
}

#[test]
fn detects_a_new_entry_of_a_folder() {
    let folder = Folder::new("folder");
    fs::create_dir(folder.at("rules")).unwrap();
    let old = fs::metadata(folder.at("file")).unwrap().modified().unwrap();
    File::open(folder.at("rules")).unwrap().set_modified(old).unwrap();
    assert!(folder.changes("rules", |folder| fs::write(folder.at("rules/a"), "").unwrap()));
}
