//! The URL of a shared store: a server, sentinels, or a cluster.

mod error;

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

pub use self::error::StoreUrlError;

/// The URL of a shared store; `Display` and `Debug` hide its password.
///
/// | | |
/// |---|---|
/// | one server | `redis://[user[:password]@]host[:port][/database]` |
/// | the primary that the sentinels name | `redis+sentinel://[user[:password]@]host[:port],…/name[/database]` |
/// | a cluster, by some of its servers | `redis+cluster://[user[:password]@]host[:port],…` |
///
/// With `rediss` instead of `redis` for TLS.
///
/// ```
/// use sluicegate::StoreUrl;
///
/// let url: StoreUrl = "rediss+sentinel://ann:hush@a,b:26380/main/3".parse()?;
/// assert_eq!(url.hosts(), [("a".to_owned(), None), ("b".to_owned(), Some(26_380))]);
/// assert_eq!((url.primary(), url.database()), (Some("main"), "3"));
/// assert_eq!(url.to_string(), "rediss+sentinel://ann:***@a,b:26380/main/3");
/// # Ok::<(), sluicegate::StoreUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// The URL as written.
    text: String,
    mode: ServerMode,
    hosts: Vec<(String, Option<u16>)>,
}

/// The mode in which the servers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerMode {
    Single,
    Sentinel,
    Cluster,
}

/// `scheme://[user[:password]@]hosts[/path]`
struct UrlParts<'a> {
    scheme: &'a str,
    /// The user and the password.
    user: Option<&'a str>,
    hosts: &'a str,
    /// The path with its `/`; empty if there is none.
    path: &'a str,
}

impl<'a> UrlParts<'a> {
    /// Splits a text; the scheme is empty if there is none.
    fn of(text: &'a str) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        Self { scheme, user, hosts, path }
    }

    /// Returns the name of the primary, if the hosts are sentinels, and the database.
    fn primary_and_database(&self, mode: ServerMode) -> (Option<&'a str>, &'a str) {
        let path = self.path.strip_prefix('/').unwrap_or_default();
        if mode == ServerMode::Sentinel {
            let (name, database) = path.split_once('/').unwrap_or((path, ""));
            (Some(name), database)
        } else {
            (None, path)
        }
    }
}

impl StoreUrl {
    /// The largest number of hosts; a few of the servers are enough to find all.
    pub const MAX_HOSTS: usize = 64;

    /// Returns the URL with its password, to connect with.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Returns the user, and the password after a `:`, both as written.
    pub fn reveal_credentials(&self) -> Option<&str> {
        self.parts().user
    }

    /// Whether the URL contains a password.
    pub fn has_password(&self) -> bool {
        self.parts()
            .user
            .and_then(|user| user.split_once(':'))
            .is_some_and(|(_, it)| !it.is_empty())
    }

    /// Whether the URL contains a user name.
    pub fn has_username(&self) -> bool {
        self.parts().user.is_some_and(|user| !user.is_empty() && !user.starts_with(':'))
    }

    /// Whether connections are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.text.starts_with("rediss")
    }

    /// Whether the hosts are sentinels.
    pub fn is_sentinel(&self) -> bool {
        self.mode == ServerMode::Sentinel
    }

    /// Whether the hosts are servers of a cluster.
    pub fn is_cluster(&self) -> bool {
        self.mode == ServerMode::Cluster
    }

    /// Returns the hosts, at least one, and their ports; IPv6 addresses without brackets.
    pub fn hosts(&self) -> &[(String, Option<u16>)] {
        &self.hosts
    }

    /// Returns the name of the primary, if the hosts are sentinels.
    pub fn primary(&self) -> Option<&str> {
        self.parts().primary_and_database(self.mode).0
    }

    /// Returns the number of the database; empty if there is none.
    pub fn database(&self) -> &str {
        self.parts().primary_and_database(self.mode).1
    }

    fn parts(&self) -> UrlParts<'_> {
        UrlParts::of(&self.text)
    }
}

/// Without the password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UrlParts { scheme, user, hosts, path } = self.parts();
        match user.and_then(|user| user.split_once(':')) {
            Some((name, password)) if !password.is_empty() => {
                write!(f, "{scheme}://{name}:***@{hosts}{path}")
            }
            _ => f.write_str(&self.text),
        }
    }
}

/// Without the password.
impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = UrlParts::of(text);
        let mode = match parts.scheme {
            "redis" | "rediss" => ServerMode::Single,
            "redis+sentinel" | "rediss+sentinel" => ServerMode::Sentinel,
            "redis+cluster" | "rediss+cluster" => ServerMode::Cluster,
            // A text without a scheme may be anything, including a password.
            other => return Err(StoreUrlError::Scheme { found: error::shown_scheme(other) }),
        };
        if text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(StoreUrlError::Letter);
        }
        if text.contains(['?', '#']) {
            return Err(StoreUrlError::More);
        }
        check_path(&parts, mode)?;
        Ok(Self { text: text.to_owned(), mode, hosts: read_hosts(parts.hosts, mode)? })
    }
}

/// Checks the path after the hosts.
fn check_path(parts: &UrlParts<'_>, mode: ServerMode) -> Result<(), StoreUrlError> {
    match (mode, parts.primary_and_database(mode)) {
        (_, (Some(""), _)) => Err(StoreUrlError::Primary),
        (ServerMode::Cluster, (_, "" | "0")) => Ok(()),
        (ServerMode::Cluster, _) => Err(StoreUrlError::ClusterDatabase),
        (_, (_, database)) if database.is_empty() || number::<u32>(database).is_some() => Ok(()),
        _ => Err(StoreUrlError::Database),
    }
}

/// Reads a host, or several separated by commas.
fn read_hosts(text: &str, mode: ServerMode) -> Result<Vec<(String, Option<u16>)>, StoreUrlError> {
    if mode == ServerMode::Single && text.contains(',') {
        return Err(StoreUrlError::SeveralHosts);
    }
    if text.split(',').count() > StoreUrl::MAX_HOSTS {
        return Err(StoreUrlError::TooManyHosts);
    }
    text.split(',').map(read_host).collect()
}

/// Reads a host with an optional port; IPv6 addresses have brackets.
fn read_host(text: &str) -> Result<(String, Option<u16>), StoreUrlError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']').ok_or(StoreUrlError::Host)?;
            let _: Ipv6Addr = address.parse().map_err(|_| StoreUrlError::Host)?;
            let port = after.strip_prefix(':');
            if port.is_none() && !after.is_empty() {
                return Err(StoreUrlError::Host);
            }
            (address, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(StoreUrlError::Host);
    }
    let valid = |port| number(port).filter(|port| *port > 0).ok_or(StoreUrlError::Port);
    Ok((host.to_owned(), port.map(valid).transpose()?))
}

/// Reads a number without a sign.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

#[cfg(test)]
mod tests;
