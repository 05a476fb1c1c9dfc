//! Errors of store URLs.

use std::fmt;

/// The reason why a text is not the URL of a store.
///
/// It repeats nothing of the text but the scheme, because the rest may contain a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrlError {
    /// The scheme is missing or unknown.
    Scheme {
        /// The scheme; empty if there is none.
        found: String,
    },
    /// A host is missing.
    Host,
    /// There are several hosts, and the scheme is for one server.
    SeveralHosts,
    /// There are too many hosts.
    TooManyHosts,
    /// The port is not a number from 1 to 65535.
    Port,
    /// The name of the primary of the sentinels is missing.
    Primary,
    /// The text after the `/` is not the number of a database.
    Database,
    /// The URL of a cluster names a database other than 0.
    ClusterDatabase,
    /// The URL contains a `?` or `#`.
    More,
    /// The URL contains a space or another character that has to be encoded.
    Letter,
}

impl fmt::Display for StoreUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AS_IN: &str = "as in `redis://127.0.0.1:6379`";
        const STORES: &str = "use `memory`, `redis://host:port`, \
            `redis+sentinel://host,host,host/name` or `redis+cluster://host,host,host`, and \
            `rediss` in place of `redis` for TLS";
        match self {
            Self::Scheme { found } if found.starts_with("valkey") => write!(
                f,
                "the scheme `{found}://` is unknown; a Valkey server has the URL of a Redis, {AS_IN}, \
                 or `rediss://` for TLS"
            ),
            Self::Scheme { found } if found.is_empty() => {
                write!(f, "this is not the URL of a store; {STORES}")
            }
            Self::Scheme { found } => write!(f, "the scheme `{found}://` is unknown; {STORES}"),
            Self::Host => write!(f, "the URL of the store has no host; write one, {AS_IN}"),
            Self::SeveralHosts => write!(
                f,
                "the URL of the store has several hosts, and `redis://` is for one server; use \
                 `redis+sentinel://a,b,c/mymaster` for sentinels, or `redis+cluster://a,b,c` for a \
                 cluster"
            ),
            Self::TooManyHosts => write!(
                f,
                "the URL of the store has more than 64 hosts; a few of them are enough, as in \
                 `redis+cluster://a,b,c`"
            ),
            Self::Port => write!(
                f,
                "the port in the URL of the store is not valid; use 1 to 65535, {AS_IN}, and write \
                 `/`, `:` and `@` in a password as %2F, %3A and %40"
            ),
            Self::Primary => write!(
                f,
                "the URL of the store does not name the primary of the sentinels; add the name \
                 after the hosts, as in `redis+sentinel://a,b,c/mymaster`"
            ),
            Self::Database => write!(
                f,
                "the URL of the store ends with something other than the number of a database; \
                 write `redis://127.0.0.1:6379/0`, or with the name of the primary \
                 `redis+sentinel://a,b,c/mymaster/0`"
            ),
            Self::ClusterDatabase => write!(
                f,
                "a cluster has only the database 0; remove everything after the hosts, as in \
                 `redis+cluster://a,b,c`"
            ),
            Self::More => write!(
                f,
                "the URL of the store contains `?` or `#`; remove everything from there on, and \
                 write them in a password as %3F and %23"
            ),
            Self::Letter => write!(
                f,
                "the URL of the store contains a space or a control character; write a space as %20"
            ),
        }
    }
}

impl std::error::Error for StoreUrlError {}

/// Returns a valid scheme, and an empty text in place of anything else, which may be secret.
pub(super) fn shown_scheme(scheme: &str) -> String {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"+.-".contains(&letter);
    let is_one = scheme.len() <= 20 && scheme.bytes().all(plain);
    if is_one { scheme.to_owned() } else { String::new() }
}
