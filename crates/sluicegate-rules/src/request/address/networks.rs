//! A set of networks with fast lookup of an address.

mod cidr;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

pub(crate) use self::cidr::NetworkEntry;

/// A set of networks and single addresses.
///
/// IPv4-mapped networks are IPv4 networks: `::ffff:10.0.0.0/104` is `10.0.0.0/8`. An IPv6 network
/// contains no IPv4 address, not even `::/0`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Networks {
    // Sorted and disjoint, so that a binary search finds the only candidate.
    v4: Box<[Ipv4Net]>,
    v6: Box<[Ipv6Net]>,
}

impl Networks {
    /// Whether the address is in one of the networks.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let behind = self.v4.partition_point(|network| network.addr() <= address);
                last_before(&self.v4, behind).is_some_and(|network| network.contains(&address))
            }
            IpAddr::V6(address) => {
                let behind = self.v6.partition_point(|network| network.addr() <= address);
                last_before(&self.v6, behind).is_some_and(|network| network.contains(&address))
            }
        }
    }

    /// Whether there is no network in the set.
    pub(crate) fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }
}

fn last_before<T>(sorted: &[T], end: usize) -> Option<&T> {
    sorted.get(..end)?.last()
}

impl FromIterator<NetworkEntry> for Networks {
    fn from_iter<I: IntoIterator<Item = NetworkEntry>>(entries: I) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for entry in entries {
            for network in entry.networks() {
                match network {
                    IpNet::V4(network) => v4.push(*network),
                    IpNet::V6(network) => v6.push(*network),
                }
            }
        }
        Self { v4: Ipv4Net::aggregate(&v4).into(), v6: Ipv6Net::aggregate(&v6).into() }
    }
}
