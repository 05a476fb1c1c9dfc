//! What was typed after `sluicegate explain`.

use std::path::PathBuf;

use sluicegate::Time;

use super::request::RequestArgs;
use crate::colour::Colour;
use crate::descriptor::Descriptor;

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The rule file, or a folder of them
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    /// A descriptor as Envoy sends it, in place of a request, as in endpoint=login,user=42; may be repeated
    #[arg(
        long = "descriptor",
        value_name = "KEY=VALUE,…",
        requires = "domain",
        conflicts_with_all = ["method", "path", "host", "ip", "headers", "attributes", "body_size"]
    )]
    pub(crate) descriptors: Vec<Descriptor>,

    /// The domain that descriptors come from
    #[arg(long, requires = "descriptors")]
    pub(crate) domain: Option<String>,

    /// What the caller says it costs
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<u64>,

    /// How large its body is, as in 64KiB
    #[arg(long, value_name = "BYTES", value_parser = sluicegate_rules::parse_bytes)]
    pub(crate) body_size: Option<u64>,

    /// When, as in 2026-11-27T10:00Z; in UTC if it names no offset, and now if left out
    #[arg(long, value_name = "TIME", value_parser = sluicegate_rules::parse_moment)]
    pub(crate) at: Option<Time>,

    /// When to use colours for mistakes in the file; `auto` means for a terminal
    #[arg(long, alias = "color", value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    pub(crate) colour: Colour,
}
