//! One entry of a list of networks: `10.0.0.0/8`, an address, or a word for several networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::slice;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// One entry of a list of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkEntry {
    /// A network, or one address.
    One(IpNet),
    /// The networks of a keyword.
    Several(&'static [IpNet]),
}

const PRIVATE: &[IpNet] = &[
    v4([10, 0, 0, 0], 8),
    v4([172, 16, 0, 0], 12),
    v4([192, 168, 0, 0], 16),
    v6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
];
const LOOPBACK: &[IpNet] = &[v4([127, 0, 0, 0], 8), v6(Ipv6Addr::LOCALHOST, 128)];
const LINK_LOCAL: &[IpNet] =
    &[v4([169, 254, 0, 0], 16), v6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10)];

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix))
}

const fn v6(address: Ipv6Addr, prefix: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(address, prefix))
}

impl NetworkEntry {
    /// The networks of the entry.
    pub(super) fn networks(&self) -> &[IpNet] {
        match self {
            Self::One(network) => slice::from_ref(network),
            Self::Several(networks) => networks,
        }
    }
}

impl FromStr for NetworkEntry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, EntryError> {
        match text {
            "private" => Ok(Self::Several(PRIVATE)),
            "loopback" => Ok(Self::Several(LOOPBACK)),
            "link_local" => Ok(Self::Several(LINK_LOCAL)),
            _ => match network(text) {
                Ok(network) => Ok(Self::One(network)),
                Err(wrong) => Err(EntryError { text: shortened(text), wrong }),
            },
        }
    }
}

fn network(text: &str) -> Result<IpNet, CidrMistake> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| not_an_address(address))?;
    let Some(prefix) = prefix else {
        return Ok(IpNet::from(address.to_canonical()));
    };
    let network = number(prefix)
        .and_then(|bits| IpNet::new(address, bits).ok())
        .ok_or_else(|| not_a_prefix(address, prefix))?;
    if network.trunc() != network {
        return Err(CidrMistake::HostBits { meant: without_host_bits(network), address });
    }
    Ok(folded(network))
}

/// Parses a prefix length: digits without a leading zero.
fn number(text: &str) -> Option<u8> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if plain && (text == "0" || !text.starts_with('0')) { text.parse().ok() } else { None }
}

/// Converts an IPv4-mapped network to IPv4.
fn folded(network: IpNet) -> IpNet {
    let IpNet::V6(six) = network else { return network };
    let prefix = six.prefix_len().checked_sub(96);
    let four = six.addr().to_ipv4_mapped().zip(prefix);
    four.and_then(|(address, prefix)| Ipv4Net::new(address, prefix).ok()).map_or(network, IpNet::V4)
}

/// The network that was probably meant; for `::ffff:10.0.0.0/8` an IPv4 network.
fn without_host_bits(network: IpNet) -> IpNet {
    let four = match network.addr() {
        IpAddr::V6(six) if network.prefix_len() <= 32 => six.to_ipv4_mapped(),
        _ => None,
    };
    four.and_then(|address| Ipv4Net::new(address, network.prefix_len()).ok())
        .map_or_else(|| folded(network.trunc()), |meant| IpNet::V4(meant.trunc()))
}

fn not_a_prefix(address: IpAddr, found: &str) -> CidrMistake {
    let mask = match address {
        IpAddr::V4(four) => found.parse().ok().map(|mask| Ipv4Net::with_netmask(four, mask)),
        IpAddr::V6(_) => None,
    };
    match mask {
        Some(Ok(network)) => CidrMistake::Mask { meant: network.trunc() },
        _ => CidrMistake::Prefix {
            found: shortened(found),
            most: if address.is_ipv4() { 32 } else { 128 },
        },
    }
}

fn not_an_address(text: &str) -> CidrMistake {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if text.is_empty() {
        CidrMistake::Empty
    } else if let Ok(with_port) = text.parse::<SocketAddr>() {
        CidrMistake::Port { without: with_port.ip() }
    } else if let Some(Ok(address)) = bracketed.map(str::parse::<Ipv6Addr>) {
        CidrMistake::Brackets { without: address }
    } else if let Some(Ok(address)) = text.split_once('%').map(|(address, _)| address.parse()) {
        CidrMistake::Zone { without: address }
    } else if text.starts_with(|first: char| first.is_alphabetic()) && !text.contains(':') {
        CidrMistake::Name
    } else {
        CidrMistake::Address
    }
}

/// Shortens a text for an error message.
fn shortened(text: &str) -> Box<str> {
    const SHOWN: usize = 60;
    let shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { format!("{shown}…").into() } else { shown.into() }
}

/// A text that is not an entry of a list of networks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryError {
    text: Box<str>,
    wrong: CidrMistake,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum CidrMistake {
    Empty,
    Name,
    Address,
    Port { without: IpAddr },
    Brackets { without: Ipv6Addr },
    Zone { without: Ipv6Addr },
    Prefix { found: Box<str>, most: u8 },
    Mask { meant: Ipv4Net },
    HostBits { meant: IpNet, address: IpAddr },
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match &self.wrong {
            CidrMistake::Empty => {
                write!(f, "`{text}` has no address; write one, as in `10.0.0.0/8`")
            }
            CidrMistake::Name => write!(
                f,
                "`{text}` is a name, and names are not looked up; write an address, a network, \
                 `private`, `loopback` or `link_local`"
            ),
            CidrMistake::Address => {
                write!(f, "`{text}` is not an address or network; write it as in `10.0.0.0/8`")
            }
            CidrMistake::Port { without } => {
                write!(f, "`{text}` has a port; write the address alone: `{without}`")
            }
            CidrMistake::Brackets { without } => {
                write!(f, "`{text}` has brackets; write the address without: `{without}`")
            }
            CidrMistake::Zone { without } => {
                write!(f, "`{text}` has a zone; write the address without: `{without}`")
            }
            CidrMistake::Prefix { found, most } => write!(
                f,
                "the prefix of `{text}` is `{found}`; it has to be a whole number from 0 to {most}"
            ),
            CidrMistake::Mask { meant } => {
                write!(f, "`{text}` has a mask for a prefix; did you mean {meant}?")
            }
            CidrMistake::HostBits { meant, address } => write!(
                f,
                "`{text}` has bits set after its prefix; did you mean {meant}? (or {address} for \
                 that one address)"
            ),
        }
    }
}

impl std::error::Error for EntryError {}
