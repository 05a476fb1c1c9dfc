//! Arguments of `sluicegate audit`.

use std::path::PathBuf;

use sluicegate_audit::{HeaderError, OutageSpan, RuleSpec};

use super::Format;

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// The traces of one run, usually one per node; `-` is standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    /// A rule that no trace header names, as in `api=token_bucket:100/min`; may be repeated
    #[arg(long = "rule", value_name = "NAME=ALGORITHM:QUOTA", value_parser = rule)]
    pub(crate) rules: Vec<(String, RuleSpec)>,

    /// The number of nodes that share the store
    #[arg(long)]
    pub(crate) nodes: Option<u32>,

    /// An outage of the store, in microseconds since 1970; may be repeated
    #[arg(long = "outage", value_name = "FROM..UNTIL", value_parser = outage)]
    pub(crate) outages: Vec<OutageSpan>,

    /// A time when the store lost its counters, in microseconds since 1970; may be repeated
    #[arg(long = "state-loss", value_name = "TIME")]
    pub(crate) state_losses: Vec<u64>,

    /// The largest clock error of the stores, in microseconds
    #[arg(long, value_name = "MICROS")]
    pub(crate) clock_error_us: Option<u64>,

    /// The largest allowed p99 latency, in microseconds
    #[arg(long, value_name = "MICROS")]
    pub(crate) wait_p99_us: Option<u64>,

    /// The largest allowed latency of any answer, in microseconds
    #[arg(long, value_name = "MICROS")]
    pub(crate) wait_max_us: Option<u64>,

    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

fn rule(text: &str) -> Result<(String, RuleSpec), String> {
    let Some((name, spec)) = text.split_once('=') else {
        return Err("use a name, `=` and a limit, as in `api=token_bucket:100/min`".to_owned());
    };
    let spec = spec.parse().map_err(|error: HeaderError| error.to_string())?;
    Ok((name.trim().to_owned(), spec))
}

fn outage(text: &str) -> Result<OutageSpan, String> {
    let times = text.split_once("..").and_then(|(from, until)| {
        Some((from.trim().parse::<u64>().ok()?, until.trim().parse::<u64>().ok()?))
    });
    match times {
        Some((from_us, until_us)) if from_us <= until_us => {
            Ok(OutageSpan { from_us, until_us, policy: sluicegate_audit::OutagePolicy::Local })
        }
        _ => Err("use two times in microseconds since 1970, the earlier one first, \
                  as in `1767225600000000..1767225605000000`"
            .to_owned()),
    }
}
