//! Parser for headers of the PROXY protocol, versions 1 and 2.
//!
//! The listener decides whether a header is expected, from which peers, and how long to wait for
//! it. A listener that expects a header must get one: if it were optional, any client could send
//! it.

mod error;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

use std::net::SocketAddr;

use self::error::HeaderFault;
pub(crate) use self::error::ProxyError;

/// The most bytes of a header: a buffer of this size is always enough.
pub(crate) const MAX_LENGTH: usize = 4096;

/// The result of parsing the first bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParsedHeader {
    /// The bytes are the start of a header; more have to be read.
    Incomplete,
    /// A complete header.
    Header {
        /// The number of its bytes; the payload of the connection follows.
        length: usize,
        /// The source address. `None` if the proxy sends none, or connects for itself, as for a
        /// health check: then the source is the peer.
        source: Option<SocketAddr>,
    },
}

/// Parses a header from the first bytes of a connection.
///
/// Fails at the first byte that cannot be part of a header, so that a wrong client does not wait.
pub(crate) fn parse(bytes: &[u8]) -> Result<ParsedHeader, ProxyError> {
    let parsed = match bytes.first() {
        None => Ok(ParsedHeader::Incomplete),
        Some(b'P') => v1::parse(bytes),
        Some(_) => v2::parse(bytes),
    };
    parsed.map_err(ProxyError::from)
}

/// Returns the bytes after the signature of a version; `None` if the signature is incomplete.
fn after_signature<'b>(signature: &[u8], bytes: &'b [u8]) -> Result<Option<&'b [u8]>, HeaderFault> {
    let mut pairs = bytes.iter().zip(signature).enumerate();
    if let Some((at, (found, _))) = pairs.find(|(_, (found, right))| found != right) {
        return Err(HeaderFault::Signature { at, found: *found });
    }
    Ok(bytes.get(signature.len()..))
}
