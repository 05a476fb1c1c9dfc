//! Reads how servers are deployed: one, a primary that sentinels name, or a cluster.

use redis::{ConnectionInfo, IntoConnectionInfo};
use sluicegate::StoreUrl;

use super::OptionsError;
use crate::address::Address;

/// The default port of sentinels.
const SENTINEL_PORT: u16 = 26_379;
/// The default port of servers.
const SERVER_PORT: u16 = 6_379;

/// How servers are deployed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deployment {
    /// One server.
    Single(Address),
    /// The primary that these sentinels know by this name.
    Sentinel { sentinels: Vec<Address>, name: String },
    /// A cluster, by some of its servers.
    Cluster { seeds: Vec<Address> },
}

/// Reads a URL: how servers are deployed, and the settings of connections.
pub(super) fn read(url: &str) -> Result<(Deployment, ConnectionInfo), OptionsError> {
    let url: StoreUrl = url.parse()?;
    let port = if url.is_sentinel() { SENTINEL_PORT } else { SERVER_PORT };
    let hosts = url.hosts().iter();
    let mut addresses: Vec<Address> =
        hosts.map(|(host, own)| Address::new(host.as_str(), own.unwrap_or(port))).collect();
    let connection = template(&url, &addresses[0])?;
    let deployment = match url.primary() {
        Some(name) => Deployment::Sentinel { sentinels: addresses, name: name.to_owned() },
        None if url.is_cluster() => Deployment::Cluster { seeds: addresses },
        None => Deployment::Single(addresses.swap_remove(0)),
    };
    Ok((deployment, connection))
}

/// The settings of connections, with the address of the first host.
fn template(url: &StoreUrl, first: &Address) -> Result<ConnectionInfo, OptionsError> {
    let scheme = if url.is_encrypted() { "rediss" } else { "redis" };
    let user = url.reveal_credentials().map(|user| format!("{user}@")).unwrap_or_default();
    let one = format!("{scheme}://{user}{first}/{}", url.database());
    one.into_connection_info().map_err(|error| OptionsError::Url {
        why: error.detail().unwrap_or("it is malformed").to_owned(),
    })
}
