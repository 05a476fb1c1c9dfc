//! Parses how servers are deployed: one, a primary that sentinels name, or a cluster.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

use super::OptionsError;
use crate::address::Address;

/// The default port of sentinels.
const SENTINEL_PORT: u16 = 26_379;
/// The default port of servers.
const SERVER_PORT: u16 = 6_379;
/// The most addresses in a URL; more than needed for sentinels or the seeds of a cluster.
const MOST: usize = 64;

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

/// Parses a URL: how servers are deployed, and the settings of connections.
pub(super) fn read(url: &str) -> Result<(Deployment, ConnectionInfo), OptionsError> {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let (encrypted, kind) = match scheme.split_once('+').unwrap_or((scheme, "")) {
        ("redis", kind) => (false, kind),
        ("rediss", kind) => (true, kind),
        _ => return Err(OptionsError::Scheme { found: scheme.to_owned() }),
    };
    match kind {
        "" if !scheme.contains('+') => {
            let connection = single(url)?;
            match connection.addr() {
                ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                    Ok((Deployment::Single(Address::new(host, *port)), connection))
                }
                _ => Err(wrong("it names no host")),
            }
        }
        "sentinel" => {
            let UrlParts { user, hosts, path } = UrlParts::of(url)?;
            let (name, database) = path.split_once('/').unwrap_or((path, ""));
            if name.is_empty() {
                return Err(wrong("it names no primary, as in redis+sentinel://a,b,c/mymaster"));
            }
            let sentinels = addresses(hosts, SENTINEL_PORT)?;
            let connection = template(encrypted, user, &sentinels, database)?;
            Ok((Deployment::Sentinel { sentinels, name: name.to_owned() }, connection))
        }
        "cluster" => {
            let UrlParts { user, hosts, path } = UrlParts::of(url)?;
            if !matches!(path, "" | "0") {
                return Err(wrong("a cluster has only database 0"));
            }
            let seeds = addresses(hosts, SERVER_PORT)?;
            let connection = template(encrypted, user, &seeds, "")?;
            Ok((Deployment::Cluster { seeds }, connection))
        }
        _ => Err(OptionsError::Scheme { found: scheme.to_owned() }),
    }
}

/// `scheme://[user[:password]@]hosts[/path]`
struct UrlParts<'a> {
    user: Option<&'a str>,
    hosts: &'a str,
    path: &'a str,
}

impl<'a> UrlParts<'a> {
    fn of(url: &'a str) -> Result<Self, OptionsError> {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        if rest.contains(['?', '#']) {
            return Err(wrong("nothing may follow a `?` or a `#`"));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        Ok(Self { user, hosts, path: path.trim_end_matches('/') })
    }
}

fn addresses(hosts: &str, port: u16) -> Result<Vec<Address>, OptionsError> {
    let read = |text: &str| {
        Address::read(text, Some(port))
            .ok_or_else(|| wrong("one of its hosts is not a valid host or host:port"))
    };
    let addresses = hosts.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
    if addresses.len() > MOST {
        return Err(wrong("it names more than 64 hosts"));
    }
    Ok(addresses)
}

/// The settings of connections, with the address of the first host.
fn template(
    encrypted: bool,
    user: Option<&str>,
    hosts: &[Address],
    database: &str,
) -> Result<ConnectionInfo, OptionsError> {
    let scheme = if encrypted { "rediss" } else { "redis" };
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let first = hosts.first().ok_or_else(|| wrong("it names no host"))?;
    single(&format!("{scheme}://{user}{first}/{database}"))
}

fn single(url: &str) -> Result<ConnectionInfo, OptionsError> {
    url.into_connection_info().map_err(|error| wrong(error.detail().unwrap_or("it is malformed")))
}

fn wrong(why: &str) -> OptionsError {
    OptionsError::Url { why: why.to_owned() }
}
