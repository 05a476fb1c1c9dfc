//! `sluicegate version`: the version and how the program was built.

use serde::Serialize;

use crate::args::VersionArgs;
use crate::exit::CliError;
use crate::output;

/// The build of this program.
#[derive(Debug, Serialize)]
struct Build {
    version: &'static str,
    /// The commit, if the build set `SLUICEGATE_COMMIT`.
    commit: Option<&'static str>,
    target: String,
    /// Whether the program needs no shared library.
    #[serde(rename = "static")]
    is_static: bool,
    allocator: &'static str,
}

impl Build {
    fn of_this_program() -> Self {
        let environment = if cfg!(target_env = "musl") {
            "-musl"
        } else if cfg!(target_env = "gnu") {
            "-gnu"
        } else {
            ""
        };
        let target = format!("{}-{}{environment}", std::env::consts::ARCH, std::env::consts::OS);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("SLUICEGATE_COMMIT").filter(|commit| !commit.is_empty()),
            target,
            is_static: cfg!(target_feature = "crt-static"),
            allocator: if cfg!(feature = "mimalloc") { "mimalloc" } else { "system" },
        }
    }

    /// A line for people; the first two words are those of `--version`.
    fn line(&self) -> String {
        let commit = self.commit.map(|commit| format!("commit {commit}, ")).unwrap_or_default();
        let linking = if self.is_static { "static" } else { "dynamic" };
        format!(
            "sluicegate {} ({commit}{}, {linking}, {} allocator)\n",
            self.version, self.target, self.allocator
        )
    }
}

pub(crate) fn run(args: &VersionArgs) -> Result<(), CliError> {
    let build = Build::of_this_program();
    let text = if args.json {
        // Serializing texts and flags does not fail.
        serde_json::to_string(&build).unwrap_or_default() + "\n"
    } else {
        build.line()
    };
    Ok(output::print(&text)?)
}
