//! `sluicegate audit`: recorded traces checked against the limits and guarantees.

use std::io::{self, BufReader};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use sluicegate_audit::{Findings, LatencyBounds, Loss, TraceErrors, TraceHeader, TraceReader};

use crate::args::{AuditArgs, Format};
use crate::exit::CliError;
use crate::output;

pub(crate) fn run(args: &AuditArgs) -> Result<ExitCode, CliError> {
    let findings = findings(args).map_err(|unreadable| CliError::usage(anyhow!(unreadable)))?;
    let text = match args.format {
        Format::Text => findings.to_string(),
        Format::Json => {
            let text = serde_json::to_string(&findings);
            text.context("cannot write the report as JSON")? + "\n"
        }
    };
    output::print(&text)?;
    Ok(if findings.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn findings(args: &AuditArgs) -> Result<Findings, TraceErrors> {
    let mut files = TraceReader::new(header(args));
    for path in &args.traces {
        if path == Path::new("-") {
            files.read("standard input", Box::new(BufReader::new(io::stdin())));
        } else {
            files.open(path);
        }
    }
    files.audit(LatencyBounds { p99_us: args.wait_p99_us, max_us: args.wait_max_us })
}

/// The facts about the run on the command line, which complete the headers of traces.
fn header(args: &AuditArgs) -> TraceHeader {
    let losses = args.state_losses.iter().map(|at| Loss { from_us: *at, until_us: *at });
    TraceHeader {
        rules: args.rules.iter().cloned().collect(),
        nodes: args.nodes,
        outages: args.outages.clone(),
        state_losses: losses.collect(),
        clock_error_us: args.clock_error_us.unwrap_or(0),
        ..TraceHeader::default()
    }
}
