//! What was typed after `tollgate explain`.

use std::net::IpAddr;
use std::path::PathBuf;

use tollgate::Time;

use crate::attribute::Attribute;
use crate::colour::Colour;
use crate::header::Header;

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The rule file, or a folder of them
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The method of the request, as in POST
    #[arg(long)]
    pub(crate) method: Option<String>,

    /// Its path, with a query if it has one, as in /checkout?currency=EUR
    #[arg(long)]
    pub(crate) path: Option<String>,

    /// The host it was sent to
    #[arg(long)]
    pub(crate) host: Option<String>,

    /// The address it came from: the caller's, or a proxy's if headers name the caller
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Option<IpAddr>,

    /// A header line, as in 'x-api-key: secret'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<Header>,

    /// An attribute, as in user=42; may be repeated
    #[arg(long = "attribute", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) attributes: Vec<Attribute>,

    /// What the caller says it costs
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<u64>,

    /// How large its body is, as in 64KiB
    #[arg(long, value_name = "BYTES", value_parser = tollgate_rules::parse_bytes)]
    pub(crate) body_size: Option<u64>,

    /// When, as in 2026-11-27T10:00Z; in UTC if it names no offset, and now if left out
    #[arg(long, value_name = "TIME", value_parser = tollgate_rules::parse_moment)]
    pub(crate) at: Option<Time>,

    /// When to use colours for mistakes in the file; `auto` means for a terminal
    #[arg(long, alias = "color", value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    pub(crate) colour: Colour,
}
