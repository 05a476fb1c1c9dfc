//! `sluicegate bench`: asks a server as fast as it answers, or at a rate, and says how that went.

#![allow(clippy::disallowed_methods, reason = "how long answers take is what is asked for")]

mod decided_by;
mod driver;
mod grpc;
mod http;
mod keys;
mod pace;
mod report;
mod resp;
mod stream;
mod tally;
mod timer;
mod written;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use crate::args::{BenchArgs, Spoken};
use crate::failure::Failure;
use crate::output;

/// Asks for as long as was typed.
pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let address = args.address.unwrap_or_else(|| usual(args.protocol));
    let tally = driver::drive(args, address)?;
    output::print(&report::report(args, address, &tally))?;
    Ok(if tally.errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn usual(protocol: Spoken) -> SocketAddr {
    let port = match protocol {
        Spoken::Http => 7070,
        Spoken::Grpc => 7071,
        Spoken::Resp => 7072,
    };
    (Ipv4Addr::LOCALHOST, port).into()
}
