//! `sluicegate bench`: a load generator in closed loop or at a fixed rate.

#![allow(clippy::disallowed_methods, reason = "measures the latency of answers in real time")]

mod decided_by;
mod driver;
mod grpc;
mod http;
mod keys;
mod pace;
mod pipelined;
mod report;
mod resp;
mod tally;
mod timer;
mod write_times;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use sluicegate_rules::Listen;

use crate::args::{BenchArgs, BenchProtocol};
use crate::exit::CliError;
use crate::output;

/// Runs the benchmark and prints its report.
pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode, CliError> {
    let address = args.address.unwrap_or_else(|| default_address(args.protocol));
    let tally = driver::drive(args, address)?;
    output::print(&report::report(args, address, &tally))?;
    Ok(if tally.errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn default_address(protocol: BenchProtocol) -> SocketAddr {
    let port = match protocol {
        BenchProtocol::Http => Listen::HTTP_PORT,
        BenchProtocol::Grpc => Listen::GRPC_PORT,
        BenchProtocol::Resp => Listen::RESP_PORT,
    };
    (Ipv4Addr::LOCALHOST, port).into()
}
