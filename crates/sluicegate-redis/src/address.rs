//! The address of a server: a host and a port.

use std::fmt;

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Parses `host`, `host:port`, `[::1]:port`, or `::1:port` as servers write it. Port 0 is
    /// invalid.
    pub(crate) fn read(text: &str, port: Option<u16>) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, port?),
            Some((host, rest)) => (host, rest.strip_prefix(':')?.parse().ok()?),
            None => match text.rsplit_once(':') {
                Some((host, port)) => (host, port.parse().ok()?),
                None => (text, port?),
            },
        };
        let strange = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '@' | '?');
        if host.is_empty() || port == 0 || host.len() > 253 || host.contains(strange) {
            return None;
        }
        Some(Self::new(host, port))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers_and_users_are_parsed() {
        let read = |text| Address::read(text, Some(26_379)).map(|address| address.to_string());
        for (text, expected) in [
            ("10.0.0.1:6379", "10.0.0.1:6379"),
            ("limits.example.com", "limits.example.com:26379"),
            ("[::1]:7000", "[::1]:7000"),
            ("[::1]", "[::1]:26379"),
            ("2001:db8::5:7000", "[2001:db8::5]:7000"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        for text in
            ["", ":6379", "host:", "host:0", "host:65536", "host:-1", "a b:1", "u@h:1", "[]:1"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
