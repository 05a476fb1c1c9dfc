//! Settings of the program in a rule file: the store and the listeners.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use sluicegate::{Span, StoreUrl};

/// Settings of the program in a rule file; `None` means not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The memory store; with a shared store, the counters of this node alone.
    pub memory: MemorySettings,
    /// The store that nodes share, if any.
    pub redis: Option<RedisSettings>,
    /// The listener for HTTP.
    pub http: Option<Listen>,
    /// The listener for gRPC.
    pub grpc: Option<Listen>,
    /// The listener for the Redis protocol.
    pub resp: Option<Listen>,
    /// The networks whose connections begin with a PROXY header, as written.
    pub proxy_protocol: Vec<String>,
}

/// The settings of the memory store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// The largest amount of memory for counters, in bytes.
    pub max: Option<u64>,
    /// A file that keeps the counters across a restart.
    pub snapshot: Option<PathBuf>,
    /// The interval at which it is written.
    pub snapshot_every: Option<Span>,
}

/// The settings of a Redis or Valkey that nodes share.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisSettings {
    /// The URL of the server, its sentinels, or the cluster.
    pub url: StoreUrl,
    /// The user name for the server.
    pub username: Option<String>,
    /// The password for the server.
    pub password: Option<String>,
    /// A file with the password, read at the start.
    pub password_file: Option<PathBuf>,
    /// The credentials for the sentinels, if the URL names sentinels.
    pub sentinel: SentinelAccess,
    /// A file with the certificates of trusted authorities.
    pub ca_file: Option<PathBuf>,
    /// The prefix of all keys.
    pub prefix: Option<String>,
    /// The number of pages that the callers of a limit are spread over.
    pub pages: Option<u32>,
    /// The longest that a decision waits for the server.
    pub deadline: Option<Span>,
    /// The number of nodes that share the limits, until the server has reported it.
    pub nodes: Option<u32>,
    /// Whether known refusals are answered locally, without a call to the server.
    pub deny_cache: Option<bool>,
}

impl RedisSettings {
    /// Returns the settings with only a URL.
    pub const fn at(url: StoreUrl) -> Self {
        Self {
            url,
            username: None,
            password: None,
            password_file: None,
            sentinel: SentinelAccess::NONE,
            ca_file: None,
            prefix: None,
            pages: None,
            deadline: None,
            nodes: None,
            deny_cache: None,
        }
    }
}

// Debug output may end up in a log, so it has to hide secrets too.
impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The credentials for sentinels, which have users of their own, or none.
#[derive(Clone, PartialEq, Eq)]
pub struct SentinelAccess {
    /// The user name for the sentinels.
    pub username: Option<String>,
    /// The password for the sentinels.
    pub password: Option<String>,
    /// A file with the password, read at the start.
    pub password_file: Option<PathBuf>,
}

impl SentinelAccess {
    /// No credentials.
    pub const NONE: Self = Self { username: None, password: None, password_file: None };
}

// Debug output may end up in a log, so it has to hide secrets too.
impl fmt::Debug for SentinelAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentinelAccess").finish_non_exhaustive()
    }
}

/// The address of a listener, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Listens at this address.
    At(SocketAddr),
    /// Does not listen.
    Off,
}

impl Listen {
    /// The default port for HTTP.
    pub const HTTP_PORT: u16 = 7070;
    /// The default port for gRPC.
    pub const GRPC_PORT: u16 = 7071;
    /// The default port for the Redis protocol.
    pub const RESP_PORT: u16 = 7072;

    /// Parses an IP address with a port, or `off`.
    ///
    /// The error is the fix, as in "use `127.0.0.1:7070`"; `default_port` completes a host alone.
    ///
    /// ```
    /// use sluicegate_rules::Listen;
    ///
    /// let fix = Listen::parse("localhost", Listen::GRPC_PORT).unwrap_err();
    /// assert_eq!(fix, "use `127.0.0.1:7071`: a host name is not resolved");
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is neither.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| fix(text, default_port))
    }
}

/// The advice for a text that is not an IP address with a port.
fn fix(text: &str, default_port: u16) -> String {
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return format!("use `{}`: a port is required", SocketAddr::new(ip, default_port));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => text.parse().map_or((text, Some(default_port)), |port| ("", Some(port))),
    };
    match (host, port) {
        ("" | "*", Some(port)) if !text.is_empty() => {
            format!("use `0.0.0.0:{port}` for every address of the machine, or `127.0.0.1:{port}`")
        }
        (host, Some(port)) if host.eq_ignore_ascii_case("localhost") => {
            format!("use `127.0.0.1:{port}`: a host name is not resolved")
        }
        (_, port) => {
            let port = port.unwrap_or(default_port);
            format!(
                "use one as in `127.0.0.1:{port}`, `[::1]:{port}` or `0.0.0.0:{port}`, or `off`"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_errors_name_the_fix() {
        for (text, fix) in [
            ("localhost", "use `127.0.0.1:7071`: a host name"),
            ("Localhost:80", "use `127.0.0.1:80`: a host name"),
            ("10.0.0.1", "use `10.0.0.1:7071`: a port"),
            ("::1", "use `[::1]:7071`: a port"),
            ("[::1]", "use `[::1]:7071`: a port"),
            ("8080", "use `0.0.0.0:8080` for every"),
            (":8080", "use `0.0.0.0:8080` for every"),
            ("*:8080", "use `0.0.0.0:8080` for every"),
            ("gateway:80", "use one as in `127.0.0.1:80`, "),
            ("localhost:70700", "use one as in `127.0.0.1:7071`, "),
            ("", "use one as in `127.0.0.1:7071`, "),
            ("OFF", "use one as in `127.0.0.1:7071`, "),
        ] {
            let found = Listen::parse(text, Listen::GRPC_PORT).unwrap_err();
            assert!(found.starts_with(fix), "{text}: {found}");
        }
    }
}
