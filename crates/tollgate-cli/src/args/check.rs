//! What was typed after `tollgate check`.

use std::net::{IpAddr, SocketAddr};

use crate::attribute::Attribute;
use crate::header::Header;

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Where the server listens for HTTP
    #[arg(long, value_name = "ADDRESS", env = "TOLLGATE_HTTP", default_value = "127.0.0.1:7070")]
    pub(crate) address: SocketAddr,

    /// The method of the request, as in POST
    #[arg(long)]
    pub(crate) method: Option<String>,

    /// Its path, with a query if it has one, as in /checkout?currency=EUR
    #[arg(long)]
    pub(crate) path: Option<String>,

    /// The host it was sent to
    #[arg(long)]
    pub(crate) host: Option<String>,

    /// The caller's address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Option<IpAddr>,

    /// A header line, as in 'x-api-key: secret'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<Header>,

    /// An attribute, as in user=42; may be repeated
    #[arg(long = "attribute", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) attributes: Vec<Attribute>,

    /// What it costs; 0 only looks
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<u64>,

    /// Asks for this key under a quota that comes with the request, whatever the rules say
    #[arg(long, requires = "quota", conflicts_with_all = ["method", "path", "host", "ip", "headers", "attributes"])]
    pub(crate) key: Option<String>,

    /// The quota of that key, as in '100/min burst 20'
    #[arg(long, requires = "key")]
    pub(crate) quota: Option<String>,
}
