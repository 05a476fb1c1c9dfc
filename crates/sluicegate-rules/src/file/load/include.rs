//! Resolution of `include` paths, folders and patterns.

use std::io;
use std::path::{Path, PathBuf};

use super::files::{FileSource, reason};

/// The result of an `include`.
pub(super) enum Included {
    Files(Vec<PathBuf>),
    /// The folder or pattern is valid, but there is no file.
    Nothing(&'static str),
    Wrong(String),
}

/// Returns the files of a path, sorted by name, and adds all folders that it lists to `paths`.
pub(super) fn find(path: PathBuf, files: &dyn FileSource, paths: &mut Vec<PathBuf>) -> Included {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("").to_owned();
    let folder = path.parent().unwrap_or(Path::new(""));
    if folder.to_string_lossy().contains('*') {
        return Included::Wrong(
            "only the last part of a path may contain `*`; name the folder".to_owned(),
        );
    }
    let found = if name.contains('*') {
        let hidden = name.starts_with('.');
        let fits = |found: &str| hidden == found.starts_with('.') && matches(&name, found);
        (list(folder, files, paths, fits), "no file matches this pattern")
    } else if files.is_folder(&path) {
        (yaml_files(&path, files, paths), "there is no `.yaml` or `.yml` file in this folder")
    } else {
        return Included::Files(vec![path]);
    };
    match found {
        (Ok(found), nothing) if found.is_empty() => Included::Nothing(nothing),
        (Ok(found), _) => Included::Files(found),
        (Err(reason), _) => Included::Wrong(reason),
    }
}

/// Returns the YAML files in a folder, without hidden ones.
pub(super) fn yaml_files(
    folder: &Path,
    files: &dyn FileSource,
    paths: &mut Vec<PathBuf>,
) -> Result<Vec<PathBuf>, String> {
    list(folder, files, paths, |name| {
        let extension = Path::new(name).extension().unwrap_or_default();
        !name.starts_with('.') && (extension == "yaml" || extension == "yml")
    })
}

fn list(
    folder: &Path,
    files: &dyn FileSource,
    paths: &mut Vec<PathBuf>,
    fits: impl Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, String> {
    // A bare file name is in the current folder.
    let here = Path::new(".");
    let unnamed = folder.as_os_str().is_empty();
    let folder = if unnamed { here } else { folder };
    if !paths.iter().any(|path| path == folder) {
        paths.push(folder.to_owned());
    }
    let listed = files.list(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => reason(&error),
    })?;
    let named = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(&fits);
    let mut found = listed.into_iter().filter(named).collect::<Vec<_>>();
    found.retain(|path| !files.is_folder(path));
    if unnamed {
        let bare = |path: &PathBuf| path.strip_prefix(here).unwrap_or(path).to_owned();
        found = found.iter().map(bare).collect();
    }
    found.sort();
    Ok(found)
}

/// Whether a name matches a pattern, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn star_matches_any_text() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a.yml", false),
            ("a*", "a", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("**", "abc", true),
            ("*ab*ab", "ab", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
