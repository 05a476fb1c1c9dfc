//! Version 2: a signature, four bytes that say what follows, addresses, and extensions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::error::Wrong;
use super::{LONGEST, Parsed, behind};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The signature and the four bytes.
const FIXED: usize = SIGNATURE.len() + 4;

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, Wrong> {
    let Some(body) = behind(SIGNATURE, bytes)? else { return Ok(Parsed::Incomplete) };
    let mut body = body.iter().copied();
    let Some(version_and_command) = body.next() else { return Ok(Parsed::Incomplete) };
    let proxied = is_proxied(version_and_command)?;
    let Some(family_and_transport) = body.next() else { return Ok(Parsed::Incomplete) };
    // A proxy that speaks for itself may write anything here.
    let addresses =
        if proxied { Addresses::announced(family_and_transport)? } else { Addresses::None };

    let Some(high) = body.next() else { return Ok(Parsed::Incomplete) };
    let low = body.next();
    let following = usize::from(u16::from_be_bytes([high, low.unwrap_or(0)]));
    let length = FIXED + following;
    if length > LONGEST {
        return Err(Wrong::TooLong { found: length });
    }
    if low.is_none() {
        return Ok(Parsed::Incomplete);
    }
    let least = addresses.size();
    if following < least {
        return Err(Wrong::TooShort { found: following, least });
    }
    // Extensions follow the addresses; none of them says where the connection comes from.
    match bytes.get(FIXED..length) {
        Some(block) => Ok(Parsed::Header { length, source: addresses.source(block) }),
        None => Ok(Parsed::Incomplete),
    }
}

fn is_proxied(version_and_command: u8) -> Result<bool, Wrong> {
    match (version_and_command >> 4, version_and_command & 0xf) {
        (2, 0) => Ok(false),
        (2, 1) => Ok(true),
        (2, command) => Err(Wrong::Command(command)),
        (version, _) => Err(Wrong::Version(version)),
    }
}

/// Which kind of addresses the header holds.
#[derive(Clone, Copy)]
enum Addresses {
    None,
    Four,
    Six,
    Unix,
}

impl Addresses {
    fn announced(family_and_transport: u8) -> Result<Self, Wrong> {
        match (family_and_transport >> 4, family_and_transport & 0xf) {
            (family @ 4.., _) => Err(Wrong::Family(family)),
            (_, transport @ 3..) => Err(Wrong::Transport(transport)),
            (0, _) | (_, 0) => Ok(Self::None),
            (1, _) => Ok(Self::Four),
            (2, _) => Ok(Self::Six),
            (3, _) => Ok(Self::Unix),
        }
    }

    /// How many bytes two of them take, with ports.
    const fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::Four => 12,
            Self::Six => 36,
            Self::Unix => 216,
        }
    }

    /// Both addresses come first, then both ports; the source is the first of each.
    fn source(self, block: &[u8]) -> Option<SocketAddr> {
        let (address, ports) = match self {
            Self::None | Self::Unix => return None,
            Self::Four => (IpAddr::V4(Ipv4Addr::from(*block.first_chunk::<4>()?)), block.get(8..)?),
            Self::Six => {
                (IpAddr::V6(Ipv6Addr::from(*block.first_chunk::<16>()?)), block.get(32..)?)
            }
        };
        let port = u16::from_be_bytes(*ports.first_chunk::<2>()?);
        Some(SocketAddr::new(address.to_canonical(), port))
    }
}
