//! What was typed.

mod audit;
mod bench;
mod check;
mod explain;
mod request;
mod serve;
mod validate;

use clap::{Parser, Subcommand};

pub(crate) use self::audit::AuditArgs;
pub(crate) use self::bench::{BenchArgs, Spoken};
pub(crate) use self::check::CheckArgs;
pub(crate) use self::explain::ExplainArgs;
pub(crate) use self::request::RequestArgs;
pub(crate) use self::serve::ServeArgs;
pub(crate) use self::validate::{Format, ValidateArgs};

/// A rate limiter: may this caller do this now?
#[derive(Debug, Parser)]
#[command(name = "sluicegate", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answers requests until it is told to stop
    Serve(ServeArgs),
    /// Says everything that is wrong or doubtful in a rule file
    Validate(ValidateArgs),
    /// Says which rules apply to a request, why, and what it owes them
    Explain(ExplainArgs),
    /// Says whether a run that was recorded kept everything that is promised
    Audit(AuditArgs),
    /// Asks a running server about one request, and ends with 1 if it is refused
    Check(CheckArgs),
    /// Asks a running server many times, and says how many a second and how long they took
    Bench(BenchArgs),
    /// Prints the JSON schema of rule files, for editors
    Schema,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Args::command().debug_assert();
    }
}
