//! The paths of programs that tests start.

use std::env;
use std::fs;
use std::path::PathBuf;

const INSTALL: &str = "run ./scripts/tools to install what the tests need";

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// `redis-server` from the search path, or the path in `SLUICEGATE_REDIS_SERVER`. Supports TLS.
    Redis,
    /// The path in `SLUICEGATE_VALKEY_SERVER`, or the one installed by `scripts/tools`. Lacks TLS.
    Valkey,
}

impl ServerKind {
    /// Every kind of server that a store has to work with.
    pub const ALL: [ServerKind; 2] = [ServerKind::Redis, ServerKind::Valkey];

    /// The path of the program.
    pub(crate) fn program(self) -> PathBuf {
        let (variable, usual) = match self {
            Self::Redis => ("SLUICEGATE_REDIS_SERVER", on_the_search_path("redis-server")),
            Self::Valkey => {
                ("SLUICEGATE_VALKEY_SERVER", Some(tools().join("valkey/bin/valkey-server")))
            }
        };
        let program = env::var_os(variable).map(PathBuf::from).or(usual);
        match program {
            Some(program) if program.is_file() => program,
            Some(program) => {
                panic!("looked for {self:?} at {} and found none: {INSTALL}", program.display())
            }
            None => panic!("looked for {self:?} on the search path and found none: {INSTALL}"),
        }
    }
}

/// The library that shifts a program's clock.
pub(crate) fn faketime() -> PathBuf {
    // Debian keeps it in a folder named after the machine's architecture.
    let folders =
        fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    folders
        .chain([PathBuf::from("/usr/lib"), PathBuf::from("/usr/local/lib")])
        .map(|folder| folder.join("faketime/libfaketime.so.1"))
        .find(|library| library.is_file())
        .unwrap_or_else(|| panic!("looked for libfaketime in /usr/lib and found none: {INSTALL}"))
}

fn on_the_search_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// The folder that `scripts/tools` installs to.
fn tools() -> PathBuf {
    env::var_os("SLUICEGATE_TOOLS").map_or_else(
        || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache/sluicegate-tools"),
        PathBuf::from,
    )
}
