//! The header of the PROXY protocol, versions 1 and 2, that a proxy sends ahead of a connection.
//!
//! Whether a header is expected, from whom, and how long it is waited for is the listener's to
//! decide. A listener that expects one must get one: to guess would let anybody send it.

mod error;
#[cfg(test)]
mod tests;
mod version1;
mod version2;

use std::net::SocketAddr;

pub use self::error::ProxyError;
use self::error::Wrong;

/// The most bytes a header may have: a buffer of this size is always enough.
pub const LONGEST: usize = 4096;

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// The beginning of a header; more has to be read.
    Incomplete,
    /// A whole header.
    Header {
        /// How many bytes it is; what follows is the connection's.
        length: usize,
        /// Where the connection comes from. `None` if the proxy says nothing of that, or that it
        /// speaks for itself: then it comes from the peer.
        source: Option<SocketAddr>,
    },
}

/// Reads a header from the first bytes of a connection.
///
/// It fails as soon as a byte cannot be part of a header, so that nobody is waited for in vain.
///
/// ```
/// use sluicegate_rules::proxy_protocol::{Parsed, parse};
///
/// let sent = b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 443\r\nGET / HTTP/1.1\r\n";
/// let source = "192.0.2.7:4711".parse().ok();
/// assert_eq!(parse(sent), Ok(Parsed::Header { length: 41, source }));
/// assert_eq!(parse(&sent[..20]), Ok(Parsed::Incomplete));
/// assert!(parse(b"GET").is_err());
/// ```
pub fn parse(bytes: &[u8]) -> Result<Parsed, ProxyError> {
    let parsed = match bytes.first() {
        None => Ok(Parsed::Incomplete),
        Some(b'P') => version1::parse(bytes),
        Some(_) => version2::parse(bytes),
    };
    parsed.map_err(ProxyError::from)
}

/// What follows the first bytes that every header of a version has; nothing if they are not all
/// there yet.
fn behind<'b>(signature: &[u8], bytes: &'b [u8]) -> Result<Option<&'b [u8]>, Wrong> {
    let mut pairs = bytes.iter().zip(signature).enumerate();
    if let Some((at, (found, _))) = pairs.find(|(_, (found, right))| found != right) {
        return Err(Wrong::Signature { at, found: *found });
    }
    Ok(bytes.get(signature.len()..))
}
