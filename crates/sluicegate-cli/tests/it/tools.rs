//! The programs of others that tests drive: where they are.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::program::ended;

/// Where `scripts/tools` puts what it installs.
fn installed(path: &str) -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let tools = env::var_os("SLUICEGATE_TOOLS").map(PathBuf::from);
    tools.unwrap_or_else(|| home().join(".cache/sluicegate-tools")).join(path)
}

/// Something that `scripts/tools` installs.
pub(super) fn tool(path: &str) -> PathBuf {
    let found = installed(path);
    assert!(
        found.exists(),
        "looked for {} and found nothing: run ./scripts/tools",
        found.display()
    );
    found
}

/// A program: what this variable of the environment names, or what `scripts/tools` installed, or
/// what is on this machine anyway.
pub(super) fn program(variable: &str, path: &str, usual: &str) -> PathBuf {
    let named = env::var_os(variable).map(PathBuf::from);
    let places = named.map_or_else(|| vec![installed(path), usual.into()], |named| vec![named]);
    let found = places.iter().find(|place| place.is_file());
    found.cloned().unwrap_or_else(|| {
        panic!(
            "looked for {places:?} and found none of them: run ./scripts/tools, or set {variable}"
        )
    })
}

/// What a program prints that has to end well.
pub(super) fn printed(command: &mut Command) -> String {
    let (code, output, errors) = ended(command);
    assert_eq!(code, Some(0), "{command:?}\n{output}\n{errors}");
    output
}
