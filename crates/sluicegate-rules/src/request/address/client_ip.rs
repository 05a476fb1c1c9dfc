//! The client's address behind trusted proxies.

mod provenance;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

pub(crate) use self::provenance::Provenance;
use super::forwarded::{self, ElementsFromRight};
use super::networks::Networks;
use super::parse;

/// The most entries that are read, counted from the right.
///
/// No real chain of proxies is this long, and a sender must not be able to make the parser read
/// thousands of entries.
pub(crate) const LONGEST_WALK: u8 = 64;

/// Which senders may report a client address other than their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum TrustPolicy {
    /// None: the client is the peer.
    #[default]
    None,
    /// Proxies with these addresses.
    Networks(Networks),
    /// A fixed number of proxies in a row, with any address. Safe only where clients cannot bypass
    /// them: a client that reaches an inner proxy directly can forge the entry that is used.
    Hops(u8),
}

/// The header in which trusted proxies report the address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ForwardedBy {
    /// `X-Forwarded-For`, to which each proxy appends.
    #[default]
    XForwardedFor,
    /// `Forwarded`, as defined by RFC 7239.
    Forwarded,
    /// A header of this name that holds only the address, such as `cf-connecting-ip`.
    Header(String),
}

/// How a client's address is found; by default it is the peer's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Proxies {
    pub(crate) trust: TrustPolicy,
    pub(crate) forwarded_by: ForwardedBy,
}

/// The client address of a request, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress {
    /// Canonical: an IPv4-mapped IPv6 address is stored as IPv4.
    pub(crate) address: IpAddr,
    pub(crate) found: Provenance,
}

impl Proxies {
    /// The lower-case name of the header that [`client`](Self::client) reads; `None` if it reads
    /// none.
    pub(crate) fn header(&self) -> Option<&str> {
        match (&self.trust, &self.forwarded_by) {
            (TrustPolicy::None | TrustPolicy::Hops(0), _) => None,
            (_, ForwardedBy::XForwardedFor) => Some("x-forwarded-for"),
            (_, ForwardedBy::Forwarded) => Some("forwarded"),
            (_, ForwardedBy::Header(name)) => Some(name),
        }
    }

    /// Finds the client of a request that `peer` sent, with the values of all lines of the
    /// [`header`](Self::header) in their order.
    pub(crate) fn client<'h>(
        &self,
        peer: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'h [u8]>,
    ) -> ClientAddress {
        let peer = peer.to_canonical();
        match &self.trust {
            TrustPolicy::None | TrustPolicy::Hops(0) => {
                return ClientAddress { address: peer, found: Provenance::Peer };
            }
            TrustPolicy::Networks(networks) if !networks.contains(peer) => {
                return ClientAddress { address: peer, found: Provenance::Untrusted };
            }
            TrustPolicy::Networks(_) | TrustPolicy::Hops(_) => {}
        }
        match self.forwarded_by {
            ForwardedBy::XForwardedFor => {
                let entries = lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
                self.walk(peer, entries, parse::read)
            }
            ForwardedBy::Forwarded => {
                self.walk(peer, lines.rev().flat_map(ElementsFromRight::of), forwarded::read)
            }
            ForwardedBy::Header(_) => only_address(peer, lines),
        }
    }

    fn walk<'h>(
        &self,
        peer: IpAddr,
        entries: impl Iterator<Item = &'h [u8]>,
        read: fn(&[u8]) -> Option<IpAddr>,
    ) -> ClientAddress {
        match &self.trust {
            TrustPolicy::None => ClientAddress { address: peer, found: Provenance::Peer },
            TrustPolicy::Networks(networks) => past_networks(networks, peer, entries.map(read)),
            TrustPolicy::Hops(hops) => past_hops(*hops, peer, entries, read),
        }
    }
}

/// The first address from the right that is not a trusted proxy's.
fn past_networks(
    trusted: &Networks,
    peer: IpAddr,
    addresses: impl Iterator<Item = Option<IpAddr>>,
) -> ClientAddress {
    // A trusted proxy vouches for the entry to its left, and only as long as the chain is
    // unbroken: an unreadable entry ends it.
    let mut nearest = peer;
    let mut hops = 0;
    for address in addresses {
        if hops == LONGEST_WALK {
            return ClientAddress { address: nearest, found: Provenance::TooMany };
        }
        hops += 1;
        let Some(address) = address else {
            return ClientAddress {
                address: nearest,
                found: Provenance::Unreadable { entry: hops },
            };
        };
        if !trusted.contains(address) {
            return ClientAddress { address, found: Provenance::ForwardedBy { hops } };
        }
        nearest = address;
    }
    let found = if hops == 0 { Provenance::NoHeader } else { Provenance::AllTrusted { hops } };
    ClientAddress { address: nearest, found }
}

/// The entry that the outermost of `hops` proxies wrote; entries of inner proxies are not parsed.
fn past_hops<'h>(
    hops: u8,
    peer: IpAddr,
    entries: impl Iterator<Item = &'h [u8]>,
    read: fn(&[u8]) -> Option<IpAddr>,
) -> ClientAddress {
    let mut seen = 0;
    for entry in entries {
        if seen == LONGEST_WALK {
            return ClientAddress { address: peer, found: Provenance::TooMany };
        }
        seen += 1;
        if seen == hops {
            return match read(entry) {
                Some(address) => ClientAddress { address, found: Provenance::ForwardedBy { hops } },
                None => {
                    ClientAddress { address: peer, found: Provenance::Unreadable { entry: hops } }
                }
            };
        }
    }
    let found = if seen == 0 { Provenance::NoHeader } else { Provenance::TooFew { entries: seen } };
    ClientAddress { address: peer, found }
}

/// The address in a single-valued header, if the header is present exactly once.
fn only_address<'h>(peer: IpAddr, mut lines: impl Iterator<Item = &'h [u8]>) -> ClientAddress {
    let Some(line) = lines.next() else {
        return ClientAddress { address: peer, found: Provenance::NoHeader };
    };
    // A proxy that sets the header replaces it, so a second line comes from the sender, and there
    // is no way to see which of the two does.
    if lines.next().is_some() {
        return ClientAddress { address: peer, found: Provenance::Repeated };
    }
    match parse::read(line) {
        Some(address) => ClientAddress { address, found: Provenance::ForwardedBy { hops: 1 } },
        None => ClientAddress { address: peer, found: Provenance::Unreadable { entry: 1 } },
    }
}
