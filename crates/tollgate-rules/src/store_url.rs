//! Where a shared store is, as it is written: `redis://[user[:password]@]host[:port][/database]`.

use std::fmt;
use std::str::FromStr;

/// The URL of a store that nodes share. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// All of it, as it is written.
    text: String,
    /// How long what stands before `://` is.
    scheme: usize,
    /// Where the password lies.
    password: Option<(usize, usize)>,
    /// Whether a user is named.
    has_username: bool,
}

/// Why a text is not the URL of a store. It repeats nothing of the text but its scheme: the rest may
/// have a password in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAStore {
    /// There is no such scheme, or none at all.
    Scheme {
        /// What stands there.
        found: String,
    },
    /// A scheme that is known, and not understood yet.
    NotYet {
        /// What stands there.
        found: String,
    },
    /// There is no host.
    Host,
    /// What stands behind the host is not a port.
    Port,
    /// What stands behind the `/` is not the number of a database.
    Database,
    /// It goes on behind a `?` or `#`.
    More,
    /// It has a space or another letter in it that has to be encoded.
    Letter,
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
        match scheme {
            "redis" | "rediss" => {}
            "redis+sentinel" | "rediss+sentinel" | "redis+cluster" | "rediss+cluster" => {
                return Err(NotAStore::NotYet { found: scheme.to_owned() });
            }
            _ => return Err(NotAStore::Scheme { found: told(scheme) }),
        }
        if rest.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(NotAStore::Letter);
        }
        if rest.contains(['?', '#']) {
            return Err(NotAStore::More);
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if !database.is_empty() && !is_number(database, u64::from(u32::MAX)) {
            return Err(NotAStore::Database);
        }
        check_host(host)?;
        let begins = scheme.len() + "://".len();
        let password = user.and_then(|user| {
            let (name, password) = user.split_once(':')?;
            let from = begins + name.len() + 1;
            (!password.is_empty()).then_some((from, from + password.len()))
        });
        let named = |user: &str| !user.split(':').next().unwrap_or_default().is_empty();
        Ok(Self {
            text: text.to_owned(),
            scheme: scheme.len(),
            password,
            has_username: user.is_some_and(named),
        })
    }
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

/// A scheme if it looks like one; anything else is not repeated.
fn told(scheme: &str) -> String {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"+.-".contains(&letter);
    let is_one = scheme.len() <= 20 && scheme.bytes().all(plain);
    if is_one { scheme.to_owned() } else { String::new() }
}

impl fmt::Display for NotAStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AS_IN: &str = "as in `redis://127.0.0.1:6379`";
        match self {
            Self::Scheme { found } if found.starts_with("valkey") => write!(
                f,
                "there is no store `{found}://`; a Valkey server is named like a Redis, {AS_IN}, or \
                 `rediss://` for TLS"
            ),
            Self::Scheme { found } if found.is_empty() => write!(
                f,
                "this is not a store; use `memory`, `redis://host:port`, or `rediss://host:port` \
                 for TLS"
            ),
            Self::Scheme { found } => write!(
                f,
                "there is no store `{found}://`; use `memory`, `redis://host:port`, or \
                 `rediss://host:port` for TLS"
            ),
            Self::NotYet { found } => {
                write!(f, "`{found}://` is not understood yet; name the server itself, {AS_IN}")
            }
            Self::Host => write!(f, "the URL of the store has no host; write one, {AS_IN}"),
            Self::Port => write!(
                f,
                "the port in the URL of the store is not one; use 1 to 65535, {AS_IN}, and write \
                 `/`, `:` and `@` in a password as %2F, %3A and %40"
            ),
            Self::Database => write!(
                f,
                "behind the host the URL of a store has nothing but the number of a database; \
                 write it as in `redis://127.0.0.1:6379/0`"
            ),
            Self::More => write!(
                f,
                "the URL of a store has nothing behind `?` or `#`; leave it out, and write these \
                 letters in a password as %3F and %23"
            ),
            Self::Letter => write!(
                f,
                "the URL of the store has a letter in it that URLs have not; write a space as %20"
            ),
        }
    }
}

impl std::error::Error for NotAStore {}

#[cfg(test)]
mod tests;
