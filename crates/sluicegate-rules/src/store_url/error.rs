//! Why a text is not the URL of a store.

use std::fmt;

/// Why a text is not the URL of a store. It repeats nothing of the text but its scheme: the rest may
/// have a password in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAStore {
    /// There is no such scheme, or none at all.
    Scheme {
        /// What stands there.
        found: String,
    },
    /// There is no host, or not between two commas.
    Host,
    /// There are several hosts where one server is meant.
    SeveralHosts,
    /// There are more hosts than can be meant.
    TooManyHosts,
    /// What stands behind the host is not a port.
    Port,
    /// Sentinels are named, and not the primary that they are to be asked for.
    Primary,
    /// What stands behind the `/` is not the number of a database.
    Database,
    /// A cluster has no database but the first one.
    ClusterDatabase,
    /// It goes on behind a `?` or `#`.
    More,
    /// It has a space or another letter in it that has to be encoded.
    Letter,
}

impl fmt::Display for NotAStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AS_IN: &str = "as in `redis://127.0.0.1:6379`";
        const STORES: &str = "use `memory`, `redis://host:port`, \
            `redis+sentinel://host,host,host/name` or `redis+cluster://host,host,host`, and \
            `rediss` in place of `redis` for TLS";
        match self {
            Self::Scheme { found } if found.starts_with("valkey") => write!(
                f,
                "there is no store `{found}://`; a Valkey server is named like a Redis, {AS_IN}, or \
                 `rediss://` for TLS"
            ),
            Self::Scheme { found } if found.is_empty() => {
                write!(f, "this is not a store; {STORES}")
            }
            Self::Scheme { found } => write!(f, "there is no store `{found}://`; {STORES}"),
            Self::Host => write!(f, "the URL of the store has no host; write one, {AS_IN}"),
            Self::SeveralHosts => write!(
                f,
                "the URL of the store names several hosts, and one server is at one; name sentinels \
                 as in `redis+sentinel://a,b,c/mymaster`, or a cluster as in `redis+cluster://a,b,c`"
            ),
            Self::TooManyHosts => write!(
                f,
                "the URL of the store names more than 64 hosts; a few of them are enough, as in \
                 `redis+cluster://a,b,c`"
            ),
            Self::Port => write!(
                f,
                "the port in the URL of the store is not one; use 1 to 65535, {AS_IN}, and write \
                 `/`, `:` and `@` in a password as %2F, %3A and %40"
            ),
            Self::Primary => write!(
                f,
                "the URL of the store does not say which primary to ask the sentinels for; write its \
                 name behind them, as in `redis+sentinel://a,b,c/mymaster`"
            ),
            Self::Database => write!(
                f,
                "behind the host the URL of a store has nothing but the number of a database; \
                 write it as in `redis://127.0.0.1:6379/0`, or behind the name of the primary as in \
                 `redis+sentinel://a,b,c/mymaster/0`"
            ),
            Self::ClusterDatabase => write!(
                f,
                "a cluster has no database but 0; leave out what stands behind its hosts, as in \
                 `redis+cluster://a,b,c`"
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

/// A scheme if it looks like one; anything else is not repeated.
pub(super) fn told(scheme: &str) -> String {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"+.-".contains(&letter);
    let is_one = scheme.len() <= 20 && scheme.bytes().all(plain);
    if is_one { scheme.to_owned() } else { String::new() }
}
