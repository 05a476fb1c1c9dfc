//! Networks that are trusted, for listeners.

use std::fmt;
use std::net::IpAddr;

use super::networks::{Entry, Networks};

/// Networks whose word on where a connection comes from is believed.
///
/// ```
/// use sluicegate_rules::TrustedNetworks;
///
/// let trusted = TrustedNetworks::parse(["10.0.0.0/8", "loopback"])?;
/// assert!(trusted.contains([127, 0, 0, 1].into()));
/// assert!(!trusted.contains([203, 0, 113, 9].into()));
/// # Ok::<(), sluicegate_rules::NotANetwork>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedNetworks(Networks);

/// A text that stands for no network, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotANetwork(String);

impl TrustedNetworks {
    /// Reads networks, addresses, and the words `private`, `loopback` and `link_local`.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self, NotANetwork> {
        let entries = texts.into_iter().map(|text| text.as_ref().parse::<Entry>());
        let networks = entries.collect::<Result<Networks, _>>();
        networks.map(Self).map_err(|error| NotANetwork(error.to_string()))
    }

    /// Whether an address is in one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(address)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for NotANetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotANetwork {}
