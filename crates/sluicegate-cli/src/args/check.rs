//! Arguments of `sluicegate check`.

use std::net::SocketAddr;

use super::health_url::HealthUrl;
use super::request::RequestArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The HTTP address of the server
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "SLUICEGATE_HTTP",
        default_value = "127.0.0.1:7070",
        value_parser = address
    )]
    pub(crate) address: SocketAddr,

    /// Checks that the server is ready, instead of a request; exits with 1 if it is not. By
    /// default, asks for /readyz at --address
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        conflicts_with_all = [
            "method", "path", "host", "ip", "headers", "attributes", "cost", "key", "quota",
        ]
    )]
    // The outer option is the flag, the inner one its URL.
    #[allow(clippy::option_option, reason = "clap's form of an optional value")]
    pub(crate) health: Option<Option<HealthUrl>>,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    /// The cost of the request; 0 charges nothing
    #[arg(long, value_name = "UNITS")]
    pub(crate) cost: Option<u64>,

    /// Checks this key against --quota instead of the rules of the server
    #[arg(
        long,
        requires = "quota",
        conflicts_with_all = ["method", "path", "host", "ip", "headers", "attributes"]
    )]
    pub(crate) key: Option<String>,

    /// The quota of --key, as in '100/min burst 20'
    #[arg(long, requires = "key")]
    pub(crate) quota: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "it is not an IP address with a port; use one as in 127.0.0.1:7070")
}
