//! The `sluicegate` program.

#![forbid(unsafe_code)]

mod args;
mod audit;
mod bench;
mod check;
mod colour;
mod completions;
mod exit;
mod explain;
mod health;
mod http_client;
mod logging;
mod man;
mod output;
mod plural;
mod reload;
mod runtime;
mod schema;
mod serve;
mod signals;
mod validate;
mod version;

use std::process::ExitCode;

use crate::args::{Args, Command};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Args { command } = Args::of_process();
    let done = match command {
        Command::Serve(args) => serve::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Validate(args) => validate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Check(args) => match &args.health {
            Some(url) => health::run(url.as_ref(), args.address),
            None => check::run(&args),
        },
        Command::Bench(args) => bench::run(&args),
        Command::Schema => schema::run().map(|()| ExitCode::SUCCESS),
        Command::Completions(args) => completions::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Man(args) => man::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Version(args) => version::run(&args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|failure| {
        output::print_error(&format!("{failure}\n"));
        failure.code()
    })
}
