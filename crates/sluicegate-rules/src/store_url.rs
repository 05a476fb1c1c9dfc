//! Where a shared store is, as it is written: the URL of a server, of sentinels, or of a cluster.

mod error;

use std::fmt;
use std::str::FromStr;

pub use self::error::NotAStore;

/// More hosts than anybody has sentinels or would name of a cluster.
const MOST_HOSTS: usize = 64;

/// The URL of a store that nodes share. Shown without its password.
///
/// | | |
/// |---|---|
/// | one server | `redis://[user[:password]@]host[:port][/database]` |
/// | the primary that sentinels name | `redis+sentinel://[user[:password]@]host[:port],…/name[/database]` |
/// | a cluster, by some of its servers | `redis+cluster://[user[:password]@]host[:port],…` |
///
/// With `rediss` instead of `redis` for TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// All of it, as it is written.
    text: String,
    /// How long what stands before `://` is.
    scheme: usize,
    /// What it says of how the servers are deployed.
    deployment: Deployment,
    /// Where the name of the primary lies.
    primary: Option<(usize, usize)>,
    /// Where the password lies.
    password: Option<(usize, usize)>,
    /// Whether a user is named.
    has_username: bool,
}

/// How the servers are deployed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deployment {
    Single,
    Sentinel,
    Cluster,
}

impl StoreUrl {
    /// All of it, with the password if it has one: for whoever connects.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Whether it has a password in it.
    pub const fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Whether it names a user.
    pub const fn has_username(&self) -> bool {
        self.has_username
    }

    /// What stands before `://`.
    pub fn scheme(&self) -> &str {
        self.text.get(..self.scheme).unwrap_or_default()
    }

    /// Whether it names sentinels, which know where the server is.
    pub fn is_sentinel(&self) -> bool {
        self.deployment == Deployment::Sentinel
    }

    /// The name that the sentinels know the server by, if it is for them to say where it is.
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
    type Err = NotAStore;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once("://") else {
            // What comes without a scheme may be anything, a password too.
            return Err(NotAStore::Scheme { found: String::new() });
        };
        let deployment = match scheme {
            "redis" | "rediss" => Deployment::Single,
            "redis+sentinel" | "rediss+sentinel" => Deployment::Sentinel,
            "redis+cluster" | "rediss+cluster" => Deployment::Cluster,
            _ => return Err(NotAStore::Scheme { found: error::told(scheme) }),
        };
        if rest.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(NotAStore::Letter);
        }
        if rest.contains(['?', '#']) {
            return Err(NotAStore::More);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let name = check_path(path, deployment)?;
        check_hosts(hosts, deployment)?;
        let begins = scheme.len() + "://".len();
        let password = user.and_then(|user| {
            let (name, password) = user.split_once(':')?;
            let from = begins + name.len() + 1;
            (!password.is_empty()).then_some((from, from + password.len()))
        });
        let named = |user: &str| !user.split(':').next().unwrap_or_default().is_empty();
        let path_begins = begins + authority.len() + "/".len();
        Ok(Self {
            text: text.to_owned(),
            scheme: scheme.len(),
            deployment,
            primary: name.map(|name| (path_begins, path_begins + name.len())),
            password,
            has_username: user.is_some_and(named),
        })
    }
}

/// What stands behind the hosts: a database, or before it the name of a primary, which is returned.
fn check_path(path: &str, deployment: Deployment) -> Result<Option<&str>, NotAStore> {
    let (name, database) = match deployment {
        Deployment::Single => (None, path),
        Deployment::Sentinel => {
            let (name, database) = path.split_once('/').unwrap_or((path, ""));
            if name.is_empty() {
                return Err(NotAStore::Primary);
            }
            (Some(name), database)
        }
        Deployment::Cluster => {
            let is_first = matches!(path, "" | "0");
            return if is_first { Ok(None) } else { Err(NotAStore::ClusterDatabase) };
        }
    };
    if !database.is_empty() && !is_number(database, u64::from(u32::MAX)) {
        return Err(NotAStore::Database);
    }
    Ok(name)
}

/// One host, or several with commas between.
fn check_hosts(text: &str, deployment: Deployment) -> Result<(), NotAStore> {
    if deployment == Deployment::Single {
        return if text.contains(',') { Err(NotAStore::SeveralHosts) } else { check_host(text) };
    }
    if text.split(',').count() > MOST_HOSTS {
        return Err(NotAStore::TooManyHosts);
    }
    text.split(',').try_for_each(check_host)
}

/// A host and, behind a colon, a port; addresses of IPv6 stand in brackets.
fn check_host(text: &str) -> Result<(), NotAStore> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, behind) = rest.split_once(']').ok_or(NotAStore::Host)?;
            let _: std::net::Ipv6Addr = address.parse().map_err(|_| NotAStore::Host)?;
            let port = behind.strip_prefix(':');
            if port.is_none() && !behind.is_empty() {
                return Err(NotAStore::Host);
            }
            (address, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(NotAStore::Host);
    }
    match port {
        Some(port) if port == "0" || !is_number(port, u16::MAX.into()) => Err(NotAStore::Port),
        _ => Ok(()),
    }
}

fn is_number(text: &str, most: u64) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit())
        && text.parse::<u64>().is_ok_and(|number| number <= most)
}

#[cfg(test)]
mod tests;
