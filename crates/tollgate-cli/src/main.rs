//! The tollgate program.

#![forbid(unsafe_code)]

mod args;
mod bytes;
mod keeping;
mod logging;
mod period;
mod runtime;
mod serve;
mod signals;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let Args { command } = Args::parse();
    let done = match command {
        Command::Serve(args) => serve::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
