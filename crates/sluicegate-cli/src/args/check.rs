//! What was typed after `sluicegate check`.

use std::net::SocketAddr;

use super::request::RequestArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Where the server listens for HTTP
    #[arg(long, value_name = "ADDRESS", env = "SLUICEGATE_HTTP", default_value = "127.0.0.1:7070")]
    pub(crate) address: SocketAddr,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

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
