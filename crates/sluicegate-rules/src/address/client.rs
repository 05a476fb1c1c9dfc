//! Finds the client's address behind the proxies that are trusted to tell it.

mod found;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

pub(crate) use self::found::Found;
use super::forwarded::{self, ElementsFromRight};
use super::networks::Networks;
use super::node;

/// The most entries that are looked at, counted from the right. Nobody has so many proxies, and
/// whoever sends thousands of entries shall not have them all read.
pub(crate) const LONGEST_WALK: u8 = 64;

/// Whose word is taken for where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Trust {
    /// Nobody's: the client is whoever connected.
    #[default]
    Nobody,
    /// That of proxies with these addresses.
    Networks(Networks),
    /// That of so many proxies in a row, whatever their addresses. Right only where nobody can
    /// get around them: who reaches an inner one directly can write the entry that is counted to.
    Hops(u8),
}

/// Where the trusted proxies write the address down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Told {
    /// In `X-Forwarded-For`, to which each proxy appends.
    #[default]
    XForwardedFor,
    /// In `Forwarded`, as RFC 7239 has it.
    Forwarded,
    /// In a header of this name that holds nothing but the address, as `cf-connecting-ip`.
    Header(String),
}

/// How a client's address is found. By default it is the peer's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Proxies {
    pub(crate) trust: Trust,
    pub(crate) told: Told,
}

/// The address a request is taken to come from, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    /// Never IPv6 for what is IPv4 inside.
    pub(crate) address: IpAddr,
    pub(crate) found: Found,
}

impl Proxies {
    /// The lower-case name of the header whose lines [`client`](Self::client) wants to see; none
    /// if it would not look at them.
    pub(crate) fn header(&self) -> Option<&str> {
        match (&self.trust, &self.told) {
            (Trust::Nobody | Trust::Hops(0), _) => None,
            (_, Told::XForwardedFor) => Some("x-forwarded-for"),
            (_, Told::Forwarded) => Some("forwarded"),
            (_, Told::Header(name)) => Some(name),
        }
    }

    /// Finds the client of a request that `peer` sent, with the values of all lines of the
    /// [`header`](Self::header) in their order.
    pub(crate) fn client<'h>(
        &self,
        peer: IpAddr,
        lines: impl DoubleEndedIterator<Item = &'h [u8]>,
    ) -> Client {
        let peer = peer.to_canonical();
        match &self.trust {
            Trust::Nobody | Trust::Hops(0) => return Client { address: peer, found: Found::Peer },
            Trust::Networks(networks) if !networks.contains(peer) => {
                return Client { address: peer, found: Found::Untrusted };
            }
            Trust::Networks(_) | Trust::Hops(_) => {}
        }
        match self.told {
            Told::XForwardedFor => {
                let entries = lines.rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
                self.walk(peer, entries, node::read)
            }
            Told::Forwarded => {
                self.walk(peer, lines.rev().flat_map(ElementsFromRight::of), forwarded::read)
            }
            Told::Header(_) => only_address(peer, lines),
        }
    }

    fn walk<'h>(
        &self,
        peer: IpAddr,
        entries: impl Iterator<Item = &'h [u8]>,
        read: fn(&[u8]) -> Option<IpAddr>,
    ) -> Client {
        match &self.trust {
            Trust::Nobody => Client { address: peer, found: Found::Peer },
            Trust::Networks(networks) => past_networks(networks, peer, entries.map(read)),
            Trust::Hops(hops) => past_hops(*hops, peer, entries, read),
        }
    }
}

/// The first address from the right that is not a trusted proxy's.
fn past_networks(
    trusted: &Networks,
    peer: IpAddr,
    addresses: impl Iterator<Item = Option<IpAddr>>,
) -> Client {
    // A trusted proxy vouches for the entry to its left, and only as long as the chain is
    // unbroken: what cannot be read ends it.
    let mut nearest = peer;
    let mut hops = 0;
    for address in addresses {
        if hops == LONGEST_WALK {
            return Client { address: nearest, found: Found::TooMany };
        }
        hops += 1;
        let Some(address) = address else {
            return Client { address: nearest, found: Found::Unreadable { entry: hops } };
        };
        if !trusted.contains(address) {
            return Client { address, found: Found::Told { hops } };
        }
        nearest = address;
    }
    let found = if hops == 0 { Found::NoHeader } else { Found::AllTrusted { hops } };
    Client { address: nearest, found }
}

/// The entry that the outermost of so many proxies wrote; what the inner ones wrote is not read.
fn past_hops<'h>(
    hops: u8,
    peer: IpAddr,
    entries: impl Iterator<Item = &'h [u8]>,
    read: fn(&[u8]) -> Option<IpAddr>,
) -> Client {
    let mut seen = 0;
    for entry in entries {
        if seen == LONGEST_WALK {
            return Client { address: peer, found: Found::TooMany };
        }
        seen += 1;
        if seen == hops {
            return match read(entry) {
                Some(address) => Client { address, found: Found::Told { hops } },
                None => Client { address: peer, found: Found::Unreadable { entry: hops } },
            };
        }
    }
    let found = if seen == 0 { Found::NoHeader } else { Found::TooFew { entries: seen } };
    Client { address: peer, found }
}

/// The address in a header that holds one and is there once.
fn only_address<'h>(peer: IpAddr, mut lines: impl Iterator<Item = &'h [u8]>) -> Client {
    let Some(line) = lines.next() else {
        return Client { address: peer, found: Found::NoHeader };
    };
    // A proxy that sets the header replaces it; a second one is the sender's, and which of the
    // two that is cannot be told.
    if lines.next().is_some() {
        return Client { address: peer, found: Found::Repeated };
    }
    match node::read(line) {
        Some(address) => Client { address, found: Found::Told { hops: 1 } },
        None => Client { address: peer, found: Found::Unreadable { entry: 1 } },
    }
}
