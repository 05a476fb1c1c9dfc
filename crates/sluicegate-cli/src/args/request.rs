//! A request on the command line.

use std::net::IpAddr;

use crate::args::attribute::Attribute;
use crate::args::header::HeaderArg;

#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
    /// The method of the request, as in POST
    #[arg(long)]
    pub(crate) method: Option<String>,

    /// The path, with a query if it has one, as in /checkout?currency=EUR
    #[arg(long)]
    pub(crate) path: Option<String>,

    /// The host that the request is sent to
    #[arg(long)]
    pub(crate) host: Option<String>,

    /// The peer address: the caller's, or a proxy's if headers name the caller
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Option<IpAddr>,

    /// A header line, as in 'x-api-key: secret'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<HeaderArg>,

    /// An attribute, as in user=42; may be repeated
    #[arg(long = "attribute", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) attributes: Vec<Attribute>,
}
