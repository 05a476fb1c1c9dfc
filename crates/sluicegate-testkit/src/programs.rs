//! Where the programs are that tests start.

use std::env;
use std::fs;
use std::path::PathBuf;

const INSTALL: &str = "run ./scripts/tools to install what the tests need";

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `redis-server` from the search path, or what `SLUICEGATE_REDIS_SERVER` names. Speaks TLS.
    Redis,
    /// What `SLUICEGATE_VALKEY_SERVER` names, or what `scripts/tools` installed. Does not speak TLS.
    Valkey,
}

impl Kind {
    /// Every server that a store has to work with.
    pub const ALL: [Kind; 2] = [Kind::Redis, Kind::Valkey];

    /// The program's file.
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

/// The library that moves a program's clock.
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
