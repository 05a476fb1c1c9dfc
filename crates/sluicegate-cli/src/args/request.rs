//! A request, as it is typed.

use std::net::IpAddr;

use crate::attribute::Attribute;
use crate::header::Header;

#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
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
}
