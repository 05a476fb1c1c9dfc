//! The command-line arguments.

pub(crate) mod attribute;
mod audit;
mod bench;
mod check;
mod completions;
pub(crate) mod descriptor;
mod explain;
pub(crate) mod header;
mod health_url;
pub(crate) mod interval;
mod man;
pub(crate) mod memory_max;
mod parse_error;
mod request;
mod serve;
mod validate;
mod version;

use std::env;
use std::ffi::OsString;

use clap::{Parser, Subcommand};

pub(crate) use self::audit::AuditArgs;
pub(crate) use self::bench::{BenchArgs, BenchProtocol};
pub(crate) use self::check::CheckArgs;
pub(crate) use self::completions::CompletionsArgs;
pub(crate) use self::explain::ExplainArgs;
pub(crate) use self::health_url::HealthUrl;
pub(crate) use self::man::ManArgs;
pub(crate) use self::request::RequestArgs;
pub(crate) use self::serve::ServeArgs;
pub(crate) use self::validate::{Format, ValidateArgs};
pub(crate) use self::version::VersionArgs;

/// A rate limiter: decides whether a caller may do something now
#[derive(Debug, Parser)]
#[command(name = "sluicegate", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: CommandArgs,
}

impl Args {
    /// Parses the arguments of the process; exits with a message if they are wrong.
    pub(crate) fn of_process() -> Self {
        let words: Vec<OsString> = env::args_os().collect();
        Self::try_parse_from(&words)
            .unwrap_or_else(|error| parse_error::with_tip(error, &words).exit())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CommandArgs {
    /// Runs the server until it is stopped by a signal
    Serve(ServeArgs),
    /// Reports errors and warnings in rule files
    Validate(ValidateArgs),
    /// Shows which rules apply to a request, why, and what it is charged
    Explain(ExplainArgs),
    /// Checks recorded traces against the limits and guarantees
    Audit(AuditArgs),
    /// Sends one request to a running server, or checks its health; exits with 1 if it is refused
    Check(CheckArgs),
    /// Measures the throughput and latency of a running server
    Bench(BenchArgs),
    /// Prints the JSON schema of rule files, for editors
    Schema,
    /// Prints the completion script of a shell
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes the pages of all commands into a folder
    Man(ManArgs),
    /// Prints the version and how the program was built
    Version(VersionArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }
}
