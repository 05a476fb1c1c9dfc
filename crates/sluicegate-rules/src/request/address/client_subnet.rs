//! The group of addresses that is counted as one client.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many leading bits of an address determine its group.
///
/// One IPv6 subscriber has at least a /64 to pick addresses from, hence the default. Where a
/// translator shows IPv4 clients as IPv6 addresses of one /96, as NAT64 does with `64:ff9b::/96`,
/// they would all be in one group: 128 bits keep them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefixLengths {
    v4: u8,
    v6: u8,
}

impl Default for PrefixLengths {
    fn default() -> Self {
        Self { v4: 32, v6: 64 }
    }
}

impl PrefixLengths {
    /// Creates groups of `v4` and `v6` leading bits; 0 is an error, as all callers would share a
    /// group.
    pub(crate) const fn new(v4: u8, v6: u8) -> Result<Self, PrefixError> {
        if v4 < 1 || v4 > 32 {
            return Err(PrefixError { version: 4, found: v4, most: 32 });
        }
        if v6 < 1 || v6 > 128 {
            return Err(PrefixError { version: 6, found: v6, most: 128 });
        }
        Ok(Self { v4, v6 })
    }

    /// The group of an address. An IPv4-mapped address is grouped as IPv4.
    pub(crate) fn group(self, address: IpAddr) -> ClientSubnet {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let host = u32::MAX.checked_shr(self.v4.into()).unwrap_or(0);
                ClientSubnet::of(self.v4, &(address.to_bits() & !host).to_be_bytes())
            }
            IpAddr::V6(address) => {
                let host = u128::MAX.checked_shr(self.v6.into()).unwrap_or(0);
                let network = (address.to_bits() & !host).to_be_bytes();
                match network.first_chunk::<8>() {
                    Some(half) if self.v6 <= 64 => ClientSubnet::of(self.v6, half),
                    _ => ClientSubnet::of(self.v6, &network),
                }
            }
        }
    }
}

/// A prefix length out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefixError {
    version: u8,
    found: u8,
    most: u8,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, found, most } = self;
        write!(f, "IPv{version} clients cannot be grouped by {found} bits; use 1 to {most}")
    }
}

impl std::error::Error for PrefixError {}

/// The addresses that share a prefix and are counted as one client.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClientSubnet {
    /// The prefix length, then the network (4 bytes of IPv4, 8 or 16 of IPv6), then zeros.
    bytes: [u8; 17],
    length: u8,
}

impl ClientSubnet {
    fn of<const N: usize>(prefix: u8, network: &[u8; N]) -> Self {
        let mut bytes = [0; 17];
        let mut length = 0;
        for (place, byte) in bytes.iter_mut().zip(std::iter::once(&prefix).chain(network)) {
            *place = *byte;
            length += 1;
        }
        Self { bytes, length }
    }

    /// The group as part of a key. Two groups never have the same bytes: IPv4 groups have five,
    /// IPv6 groups nine or seventeen, and the first byte is the prefix length.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length.into()).unwrap_or(&self.bytes)
    }
}

impl fmt::Display for ClientSubnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [prefix, network @ ..] = self.bytes;
        let (address, whole) = match network.first_chunk::<4>() {
            Some(four) if self.length == 5 => (IpAddr::V4(Ipv4Addr::from(*four)), 32),
            _ => (IpAddr::V6(Ipv6Addr::from(network)), 128),
        };
        if prefix == whole { address.fmt(f) } else { write!(f, "{address}/{prefix}") }
    }
}

impl fmt::Debug for ClientSubnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientSubnet({self})")
    }
}
