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

use crate::args::{Args, CommandArgs};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Args { command } = Args::of_process();
    let done = match command {
        CommandArgs::Serve(args) => serve::run(&args).map(|()| ExitCode::SUCCESS),
        CommandArgs::Validate(args) => validate::run(&args),
        CommandArgs::Explain(args) => explain::run(&args),
        CommandArgs::Audit(args) => audit::run(&args),
        CommandArgs::Check(args) => match &args.health {
            Some(url) => health::run(url.as_ref(), args.address),
            None => check::run(&args),
        },
        CommandArgs::Bench(args) => bench::run(&args),
        CommandArgs::Schema => schema::run().map(|()| ExitCode::SUCCESS),
        CommandArgs::Completions(args) => completions::run(&args).map(|()| ExitCode::SUCCESS),
        CommandArgs::Man(args) => man::run(&args).map(|()| ExitCode::SUCCESS),
        CommandArgs::Version(args) => version::run(&args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|failure| {
        output::print_error(&format!("{failure}\n"));
        failure.code()
    })
}
