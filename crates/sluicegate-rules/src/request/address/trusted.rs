//! The trusted networks of a listener.

use std::fmt;
use std::net::IpAddr;

use super::networks::{NetworkEntry, Networks};

/// Networks that may report where a connection comes from.
///
/// ```
/// use sluicegate_rules::TrustedNetworks;
///
/// let trusted = TrustedNetworks::parse(["10.0.0.0/8", "loopback"])?;
/// assert!(trusted.contains([127, 0, 0, 1].into()));
/// assert!(!trusted.contains([203, 0, 113, 9].into()));
/// # Ok::<(), sluicegate_rules::InvalidNetwork>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedNetworks(Networks);

/// A text that is not a network, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidNetwork(String);

impl TrustedNetworks {
    /// Parses networks, addresses, and the words `private`, `loopback` and `link_local`.
    pub fn parse<T: AsRef<str>>(
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Self, InvalidNetwork> {
        let entries = texts.into_iter().map(|text| text.as_ref().parse::<NetworkEntry>());
        let networks = entries.collect::<Result<Networks, _>>();
        networks.map(Self).map_err(|error| InvalidNetwork(error.to_string()))
    }

    /// Whether an address is in one of the networks.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(address)
    }

    /// Whether there is no network.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidNetwork {}
