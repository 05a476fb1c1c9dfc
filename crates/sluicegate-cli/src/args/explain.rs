//! Arguments of `sluicegate explain`.

use std::path::PathBuf;

use sluicegate::Time;

use super::request::RequestArgs;
use crate::args::descriptor::DescriptorArg;
use crate::colour::Colour;

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The rule file, or a folder of them
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    /// An Envoy descriptor instead of a request, as in endpoint=login,user=42; may be repeated
    #[arg(
        long = "descriptor",
        value_name = "KEY=VALUE,…",
        requires = "domain",
        conflicts_with_all = ["method", "path", "host", "ip", "headers", "attributes", "body_size"]
    )]
    pub(crate) descriptors: Vec<DescriptorArg>,

    /// The domain of the descriptors
    #[arg(long, requires = "descriptors")]
    pub(crate) domain: Option<String>,

    /// The cost that the caller sends
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<u64>,

    /// The size of the request body, as in 64KiB
    #[arg(long, value_name = "BYTES", value_parser = sluicegate_rules::parse_bytes)]
    pub(crate) body_size: Option<u64>,

    /// The time of the request, as in 2026-11-27T10:00Z; UTC without an offset, now by default
    #[arg(long, value_name = "TIME", value_parser = sluicegate_rules::parse_moment)]
    pub(crate) at: Option<Time>,

    /// When to use colours for errors in the file; `auto` means for a terminal
    #[arg(long, alias = "color", value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    pub(crate) colour: Colour,
}
