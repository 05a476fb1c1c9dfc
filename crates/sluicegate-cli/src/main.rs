//! The `sluicegate` program.

#![forbid(unsafe_code)]

mod args;
mod audit;
mod bench;
mod check;
mod colour;
mod exit;
mod explain;
mod logging;
mod output;
mod plural;
mod reload;
mod runtime;
mod schema;
mod serve;
mod signals;
mod validate;

use std::process::ExitCode;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let Args { command } = Args::of_process();
    let done = match command {
        Command::Serve(args) => serve::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Validate(args) => validate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Schema => schema::run().map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|failure| {
        output::print_error(&format!("{failure}\n"));
        failure.code()
    })
}
