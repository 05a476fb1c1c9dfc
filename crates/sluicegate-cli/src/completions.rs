//! `sluicegate completions`: the completion script of a shell.

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::exit::CliError;
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "sluicegate", &mut script);
    let script = String::from_utf8(script).context("cannot write the completion script")?;
    Ok(output::print(&script)?)
}
