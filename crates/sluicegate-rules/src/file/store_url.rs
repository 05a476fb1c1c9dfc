//! The URL of a shared store: a server, sentinels, or a cluster.

mod error;

use std::fmt;
use std::str::FromStr;

pub use self::error::StoreUrlError;

/// The largest number of hosts; real deployments name fewer.
const MOST_HOSTS: usize = 64;

/// The URL of a shared store; `Display` and `Debug` hide its password.
///
/// | | |
/// |---|---|
/// | one server | `redis://[user[:password]@]host[:port][/database]` |
/// | the primary that the sentinels name | `redis+sentinel://[user[:password]@]host[:port],…/name[/database]` |
/// | a cluster, by some of its servers | `redis+cluster://[user[:password]@]host[:port],…` |
///
/// With `rediss` instead of `redis` for TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// The URL as written.
    text: String,
    /// The length of the scheme.
    scheme: usize,
    /// The mode that the scheme names.
    mode: ServerMode,
    /// The bytes of the name of the primary.
    primary: Option<(usize, usize)>,
    /// The bytes of the password.
    password: Option<(usize, usize)>,
    /// Whether a user is named.
    has_username: bool,
}

/// The mode in which the servers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerMode {
    Single,
    Sentinel,
    Cluster,
}

impl StoreUrl {
    /// Returns the URL with its password, to connect with.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Whether the URL contains a password.
    pub const fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Whether the URL contains a user name.
    pub const fn has_username(&self) -> bool {
        self.has_username
    }

    /// Returns the scheme, without `://`.
    pub fn scheme(&self) -> &str {
        self.text.get(..self.scheme).unwrap_or_default()
    }

    /// Whether the hosts are sentinels.
    pub fn is_sentinel(&self) -> bool {
        self.mode == ServerMode::Sentinel
    }

    /// Returns the name of the primary, if the hosts are sentinels.
    pub fn primary(&self) -> Option<&str> {
        let (from, to) = self.primary?;
        self.text.get(from..to)
    }
}

/// Without the password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((from, to)) = self.password else { return f.write_str(&self.text) };
        let before = self.text.get(..from).unwrap_or_default();
        let after = self.text.get(to..).unwrap_or_default();
        write!(f, "{before}***{after}")
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
        let Some((scheme, rest)) = text.split_once("://") else {
            // A text without a scheme may be anything, including a password.
            return Err(StoreUrlError::Scheme { found: String::new() });
        };
        let mode = match scheme {
            "redis" | "rediss" => ServerMode::Single,
            "redis+sentinel" | "rediss+sentinel" => ServerMode::Sentinel,
            "redis+cluster" | "rediss+cluster" => ServerMode::Cluster,
            _ => return Err(StoreUrlError::Scheme { found: error::shown_scheme(scheme) }),
        };
        if rest.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(StoreUrlError::Letter);
        }
        if rest.contains(['?', '#']) {
            return Err(StoreUrlError::More);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let name = check_path(path, mode)?;
        check_hosts(hosts, mode)?;
        let start = scheme.len() + "://".len();
        let password = user.and_then(|user| {
            let (name, password) = user.split_once(':')?;
            let from = start + name.len() + 1;
            (!password.is_empty()).then_some((from, from + password.len()))
        });
        let named = |user: &str| !user.split(':').next().unwrap_or_default().is_empty();
        let path_start = start + authority.len() + "/".len();
        Ok(Self {
            text: text.to_owned(),
            scheme: scheme.len(),
            mode,
            primary: name.map(|name| (path_start, path_start + name.len())),
            password,
            has_username: user.is_some_and(named),
        })
    }
}

/// Checks the path after the hosts and returns the name of the primary, if there is one.
fn check_path(path: &str, mode: ServerMode) -> Result<Option<&str>, StoreUrlError> {
    let (name, database) = match mode {
        ServerMode::Single => (None, path),
        ServerMode::Sentinel => {
            let (name, database) = path.split_once('/').unwrap_or((path, ""));
            if name.is_empty() {
                return Err(StoreUrlError::Primary);
            }
            (Some(name), database)
        }
        ServerMode::Cluster => {
            let is_first = matches!(path, "" | "0");
            return if is_first { Ok(None) } else { Err(StoreUrlError::ClusterDatabase) };
        }
    };
    if !database.is_empty() && !is_number(database, u64::from(u32::MAX)) {
        return Err(StoreUrlError::Database);
    }
    Ok(name)
}

/// Checks a host, or several separated by commas.
fn check_hosts(text: &str, mode: ServerMode) -> Result<(), StoreUrlError> {
    if mode == ServerMode::Single {
        return if text.contains(',') {
            Err(StoreUrlError::SeveralHosts)
        } else {
            check_host(text)
        };
    }
    if text.split(',').count() > MOST_HOSTS {
        return Err(StoreUrlError::TooManyHosts);
    }
    text.split(',').try_for_each(check_host)
}

/// Checks a host with an optional port; IPv6 addresses have brackets.
fn check_host(text: &str) -> Result<(), StoreUrlError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']').ok_or(StoreUrlError::Host)?;
            let _: std::net::Ipv6Addr = address.parse().map_err(|_| StoreUrlError::Host)?;
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
    match port {
        Some(port) if port == "0" || !is_number(port, u16::MAX.into()) => Err(StoreUrlError::Port),
        _ => Ok(()),
    }
}

fn is_number(text: &str, most: u64) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit())
        && text.parse::<u64>().is_ok_and(|number| number <= most)
}

#[cfg(test)]
mod tests;
