//! The URL of a health check.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use hyper::Uri;

/// The path that reports readiness.
const READY: &str = "/readyz";

/// An `http://` URL with a host, a port and a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HealthUrl {
    address: String,
    path: String,
}

impl HealthUrl {
    /// The URL of a server that listens at this address.
    pub(crate) fn of_listener(mut address: SocketAddr) -> Self {
        // A listener on all addresses is reached through the loopback one.
        match address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        Self { address: address.to_string(), path: READY.to_owned() }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The path with its query.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for HealthUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.address, self.path)
    }
}

impl FromStr for HealthUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FIX: &str = "it is not an HTTP URL; use one as in http://127.0.0.1:7070/readyz";
        let uri: Uri = text.parse().map_err(|_| FIX)?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err("the listeners have no TLS; use an http:// URL of the server itself");
            }
            _ => return Err(FIX),
        }
        let authority = uri.authority().filter(|part| !part.as_str().contains('@')).ok_or(FIX)?;
        let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
        let path = match uri.path_and_query().map_or("/", |path| path.as_str()) {
            "/" => READY,
            path => path,
        };
        Ok(Self { address, path: path.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_defaults_for_port_and_path() {
        for (text, expected) in [
            ("http://127.0.0.1:7070", "http://127.0.0.1:7070/readyz"),
            ("http://127.0.0.1:7070/", "http://127.0.0.1:7070/readyz"),
            ("http://gate/healthz", "http://gate:80/healthz"),
            ("http://[::1]:7070/readyz?strict", "http://[::1]:7070/readyz?strict"),
        ] {
            assert_eq!(text.parse::<HealthUrl>().unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn rejects_what_is_not_an_http_url() {
        for text in ["", "127.0.0.1:7070", "ftp://gate/", "http://", "http://user@gate/", "/readyz"]
        {
            let error = text.parse::<HealthUrl>().unwrap_err();
            assert!(error.contains("as in http://127.0.0.1:7070/readyz"), "{text}: {error}");
        }
        let error = "https://gate/".parse::<HealthUrl>().unwrap_err();
        assert!(error.contains("no TLS"), "{error}");
    }

    #[test]
    fn a_listener_on_all_addresses_is_asked_on_the_loopback_one() {
        for (address, expected) in [
            ("0.0.0.0:7070", "http://127.0.0.1:7070/readyz"),
            ("[::]:7070", "http://[::1]:7070/readyz"),
            ("10.0.0.7:80", "http://10.0.0.7:80/readyz"),
        ] {
            let url = HealthUrl::of_listener(address.parse().unwrap());
            assert_eq!(url.to_string(), expected);
        }
    }
}
