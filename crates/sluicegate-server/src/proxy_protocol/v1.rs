//! PROXY protocol version 1: one line of text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::{self, FromStr};

use super::error::HeaderFault;
use super::{ParsedHeader, after_signature};

/// The length of the longest line, with its end.
pub(super) const MAX_LINE: usize = 107;

const SIGNATURE: &[u8] = b"PROXY ";

pub(super) fn parse(bytes: &[u8]) -> Result<ParsedHeader, HeaderFault> {
    let Some(body) = after_signature(SIGNATURE, bytes)? else {
        return Ok(ParsedHeader::Incomplete);
    };
    // The carriage return must leave room for the line feed.
    let room = MAX_LINE - 1 - SIGNATURE.len();
    let Some(end) = body.iter().take(room).position(|byte| *byte == b'\r') else {
        read(&mut HeaderTokens { rest: Some(body), is_complete: false })?;
        return if body.len() < room {
            Ok(ParsedHeader::Incomplete)
        } else {
            Err(HeaderFault::LineTooLong)
        };
    };
    let read = read(&mut HeaderTokens { rest: body.get(..end), is_complete: true })?;
    match (read, body.get(end + 1)) {
        (Some(source), Some(b'\n')) => {
            Ok(ParsedHeader::Header { length: SIGNATURE.len() + end + 2, source: source.0 })
        }
        (_, Some(other)) => Err(HeaderFault::BareReturn(*other)),
        (_, None) => Ok(ParsedHeader::Incomplete),
    }
}

/// The source address of a complete line; none for UNKNOWN.
struct SourceAddress(Option<SocketAddr>);

/// Parses a line, or the start of one: that returns `None` or the first error.
fn read(words: &mut HeaderTokens<'_>) -> Result<Option<SourceAddress>, HeaderFault> {
    let is_complete = words.is_complete;
    match words.next() {
        Some(HeaderToken::Complete(b"TCP4")) => read_addresses::<Ipv4Addr>(words, 4),
        Some(HeaderToken::Complete(b"TCP6")) => read_addresses::<Ipv6Addr>(words, 6),
        Some(HeaderToken::Complete(b"UNKNOWN")) => {
            // The rest is ignored, but must have no byte that another parser takes for a line end.
            let rest = words.rest.unwrap_or_default();
            match rest.iter().find(|byte| !matches!(byte, b' '..=b'~')) {
                Some(found) => Err(HeaderFault::Unprintable(*found)),
                None => Ok(is_complete.then_some(SourceAddress(None))),
            }
        }
        Some(HeaderToken::Partial(start))
            if [&b"TCP4"[..], b"TCP6", b"UNKNOWN"].iter().any(|name| name.starts_with(start)) =>
        {
            Ok(None)
        }
        Some(HeaderToken::Complete(found) | HeaderToken::Partial(found)) => {
            Err(HeaderFault::Protocol(HeaderFault::escape(found)))
        }
        None => Err(HeaderFault::Missing { field: "protocol" }),
    }
}

fn read_addresses<A: FromStr + Into<IpAddr>>(
    words: &mut HeaderTokens<'_>,
    version: u8,
) -> Result<Option<SourceAddress>, HeaderFault> {
    let Some(source) = read_address::<A>(words, version, "source address")? else {
        return Ok(None);
    };
    let Some(_) = read_address::<A>(words, version, "destination address")? else {
        return Ok(None);
    };
    let Some(port) = read_port(words, "source port")? else { return Ok(None) };
    let Some(_) = read_port(words, "destination port")? else { return Ok(None) };
    match words.next() {
        Some(HeaderToken::Complete(found) | HeaderToken::Partial(found)) => {
            Err(HeaderFault::Leftover(HeaderFault::escape(found)))
        }
        None => Ok(Some(SourceAddress(Some(SocketAddr::new(source.to_canonical(), port))))),
    }
}

fn read_address<A: FromStr + Into<IpAddr>>(
    words: &mut HeaderTokens<'_>,
    version: u8,
    field: &'static str,
) -> Result<Option<IpAddr>, HeaderFault> {
    let (read, found) = match words.next() {
        Some(HeaderToken::Complete(text)) => (address::<A>(text).map(Some), text),
        Some(HeaderToken::Partial(start)) => (begins_address::<A>(start).then_some(None), start),
        None => return Err(HeaderFault::Missing { field }),
    };
    read.ok_or_else(|| HeaderFault::Address { field, version, found: HeaderFault::escape(found) })
}

fn address<A: FromStr + Into<IpAddr>>(text: &[u8]) -> Option<IpAddr> {
    str::from_utf8(text).ok()?.parse::<A>().ok().map(Into::into)
}

/// Returns whether a text is the start of an address: one of these endings then completes it.
fn begins_address<A: FromStr + Into<IpAddr>>(start: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 11] =
        [b"", b"0", b":", b"::", b":0", b".0", b"0.0", b".0.0", b"0.0.0", b".0.0.0", b"0.0.0.0"];
    ENDINGS.iter().any(|ending| address::<A>(&[start, ending].concat()).is_some())
}

fn read_port(
    words: &mut HeaderTokens<'_>,
    field: &'static str,
) -> Result<Option<u16>, HeaderFault> {
    let (read, found) = match words.next() {
        Some(HeaderToken::Complete(text)) => (port(text).map(Some), text),
        Some(HeaderToken::Partial(start)) => {
            ((start.is_empty() || port(start).is_some()).then_some(None), start)
        }
        None => return Err(HeaderFault::Missing { field }),
    };
    read.ok_or_else(|| HeaderFault::Port { field, found: HeaderFault::escape(found) })
}

fn port(text: &[u8]) -> Option<u16> {
    // `parse` would accept a sign, and the protocol forbids leading zeros.
    let plain = text == b"0" || matches!(text, [b'1'..=b'9', ..]);
    if plain { str::from_utf8(text).ok()?.parse().ok() } else { None }
}

/// The words of a line, separated by exactly one space.
struct HeaderTokens<'l> {
    rest: Option<&'l [u8]>,
    /// Whether the line is complete. If not, its last word may continue.
    is_complete: bool,
}

enum HeaderToken<'l> {
    Complete(&'l [u8]),
    Partial(&'l [u8]),
}

impl<'l> HeaderTokens<'l> {
    fn next(&mut self) -> Option<HeaderToken<'l>> {
        let rest = self.rest.take()?;
        let mut parts = rest.splitn(2, |byte| *byte == b' ');
        let word = parts.next()?;
        self.rest = parts.next();
        let open = self.rest.is_none() && !self.is_complete;
        Some(if open { HeaderToken::Partial(word) } else { HeaderToken::Complete(word) })
    }
}
