//! Every way in which files are replaced.

use std::fs::File;
use std::os::unix::fs::symlink;

use super::*;

/// A folder with a file in it, removed with the test.
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

    /// Whether something looks different after a change.
    fn changes(&self, name: &str, change: impl FnOnce(&Self)) -> bool {
        let before = Look::at([&self.at(name)]);
        assert_eq!(before, Look::at([&self.at(name)]), "it looks the same until it is changed");
        change(self);
        before != Look::at([&self.at(name)])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Gives a file the time of another, as `cp -p` and `mv` do.
fn same_time(file: &Path, as_of: &Path) {
    let time = fs::metadata(as_of).unwrap().modified().unwrap();
    File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn another_size_is_seen() {
    let folder = Folder::new("size");
    assert!(folder.changes("file", |folder| {
        let time = fs::metadata(folder.at("file")).unwrap().modified().unwrap();
        fs::write(folder.at("file"), "three").unwrap();
        File::open(folder.at("file")).unwrap().set_modified(time).unwrap();
    }));
}

#[test]
fn another_file_of_the_same_size_and_time_is_seen() {
    let folder = Folder::new("renamed");
    assert!(folder.changes("file", |folder| {
        fs::write(folder.at("new"), "two").unwrap();
        same_time(&folder.at("new"), &folder.at("file"));
        fs::rename(folder.at("new"), folder.at("file")).unwrap();
    }));
}

#[test]
fn a_link_that_is_turned_elsewhere_is_seen() {
    let folder = Folder::new("link");
    for name in ["one", "two"] {
        fs::create_dir(folder.at(name)).unwrap();
        // The same file in both: only the way to it is another.
        fs::hard_link(folder.at("file"), folder.at(name).join("file")).unwrap();
    }
    symlink("one", folder.at("data")).unwrap();
    assert!(folder.changes("data/file", |folder| {
        symlink("two", folder.at("new")).unwrap();
        fs::rename(folder.at("new"), folder.at("data")).unwrap();
    }));
}

#[test]
fn what_comes_and_goes_is_seen() {
    let folder = Folder::new("gone");
    assert!(folder.changes("new", |folder| fs::write(folder.at("new"), "").unwrap()));
    assert!(folder.changes("new", |folder| fs::remove_file(folder.at("new")).unwrap()));
}

#[test]
fn a_folder_changes_with_what_is_in_it() {
    let folder = Folder::new("folder");
    fs::create_dir(folder.at("rules")).unwrap();
    let old = fs::metadata(folder.at("file")).unwrap().modified().unwrap();
    File::open(folder.at("rules")).unwrap().set_modified(old).unwrap();
    assert!(folder.changes("rules", |folder| fs::write(folder.at("rules/a"), "").unwrap()));
}
