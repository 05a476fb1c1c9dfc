//! PROXY protocol version 2: signature, four bytes of header, addresses, extensions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::HeaderFault;
use super::{MAX_LENGTH, ParsedHeader, after_signature};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The length of the signature and the four bytes after it.
const FIXED: usize = SIGNATURE.len() + 4;

pub(super) fn parse(bytes: &[u8]) -> Result<ParsedHeader, HeaderFault> {
    let Some(body) = after_signature(SIGNATURE, bytes)? else {
        return Ok(ParsedHeader::Incomplete);
    };
    let mut body = body.iter().copied();
    let Some(version_and_command) = body.next() else { return Ok(ParsedHeader::Incomplete) };
    let proxied = is_proxied(version_and_command)?;
    let Some(family_and_transport) = body.next() else { return Ok(ParsedHeader::Incomplete) };
    // A proxy that connects for itself may send any value here.
    let addresses =
        if proxied { AddressBlock::from_byte(family_and_transport)? } else { AddressBlock::None };

    let Some(high) = body.next() else { return Ok(ParsedHeader::Incomplete) };
    let low = body.next();
    let following = usize::from(u16::from_be_bytes([high, low.unwrap_or(0)]));
    let length = FIXED + following;
    if length > MAX_LENGTH {
        return Err(HeaderFault::TooLong { found: length });
    }
    if low.is_none() {
        return Ok(ParsedHeader::Incomplete);
    }
    let least = addresses.size();
    if following < least {
        return Err(HeaderFault::TooShort { found: following, least });
    }
    // Extensions follow the addresses; none of them has the source address.
    match bytes.get(FIXED..length) {
        Some(block) => Ok(ParsedHeader::Header { length, source: addresses.source(block) }),
        None => Ok(ParsedHeader::Incomplete),
    }
}

fn is_proxied(version_and_command: u8) -> Result<bool, HeaderFault> {
    match (version_and_command >> 4, version_and_command & 0xf) {
        (2, 0) => Ok(false),
        (2, 1) => Ok(true),
        (2, command) => Err(HeaderFault::Command(command)),
        (version, _) => Err(HeaderFault::Version(version)),
    }
}

/// The kind of the addresses in the header.
#[derive(Clone, Copy)]
enum AddressBlock {
    None,
    V4,
    V6,
    Unix,
}

impl AddressBlock {
    fn from_byte(family_and_transport: u8) -> Result<Self, HeaderFault> {
        match (family_and_transport >> 4, family_and_transport & 0xf) {
            (family @ 4.., _) => Err(HeaderFault::Family(family)),
            (_, transport @ 3..) => Err(HeaderFault::Transport(transport)),
            (0, _) | (_, 0) => Ok(Self::None),
            (1, _) => Ok(Self::V4),
            (2, _) => Ok(Self::V6),
            (3, _) => Ok(Self::Unix),
        }
    }

    /// Returns the size of two addresses with their ports.
    const fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::V4 => 12,
            Self::V6 => 36,
            Self::Unix => 216,
        }
    }

    /// Returns the source: both addresses come first, then both ports.
    fn source(self, block: &[u8]) -> Option<SocketAddr> {
        let (address, ports) = match self {
            Self::None | Self::Unix => return None,
            Self::V4 => (IpAddr::V4(Ipv4Addr::from(*block.first_chunk::<4>()?)), block.get(8..)?),
            Self::V6 => (IpAddr::V6(Ipv6Addr::from(*block.first_chunk::<16>()?)), block.get(32..)?),
        };
        let port = u16::from_be_bytes(*ports.first_chunk::<2>()?);
        Some(SocketAddr::new(address.to_canonical(), port))
    }
}
