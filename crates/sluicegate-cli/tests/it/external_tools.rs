//! Paths of external programs that tests start.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::program::ended;

/// A path below the folder of `scripts/tools`.
fn installed(path: &str) -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let tools = env::var_os("SLUICEGATE_TOOLS").map(PathBuf::from);
    tools.unwrap_or_else(|| home().join(".cache/sluicegate-tools")).join(path)
}

/// A file that `scripts/tools` installs.
pub(super) fn tool(path: &str) -> PathBuf {
    let found = installed(path);
    assert!(found.exists(), "{} is missing: run ./scripts/tools", found.display());
    found
}

/// A program: from this environment variable, from `scripts/tools`, or from the system.
pub(super) fn program(variable: &str, path: &str, system: &str) -> PathBuf {
    let named = env::var_os(variable).map(PathBuf::from);
    let places = named.map_or_else(|| vec![installed(path), system.into()], |named| vec![named]);
    let found = places.iter().find(|place| place.is_file());
    found.cloned().unwrap_or_else(|| {
        panic!("none of {places:?} exists: run ./scripts/tools, or set {variable}")
    })
}

/// The output of a program that must succeed.
pub(super) fn printed(command: &mut Command) -> String {
    let (code, output, errors) = ended(command);
    assert_eq!(code, Some(0), "{command:?}\n{output}\n{errors}");
    output
}
