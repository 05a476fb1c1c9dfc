//! Version 1: one line of text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::{self, FromStr};

use super::error::Wrong;
use super::{Parsed, behind};

/// The longest line, with its end.
pub(super) const LONGEST: usize = 107;

const SIGNATURE: &[u8] = b"PROXY ";

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, Wrong> {
    let Some(body) = behind(SIGNATURE, bytes)? else { return Ok(Parsed::Incomplete) };
    // The carriage return has to leave room for the line feed.
    let room = LONGEST - 1 - SIGNATURE.len();
    let Some(end) = body.iter().take(room).position(|byte| *byte == b'\r') else {
        read(&mut Words { rest: Some(body), ended: false })?;
        return if body.len() < room { Ok(Parsed::Incomplete) } else { Err(Wrong::LineTooLong) };
    };
    let read = read(&mut Words { rest: body.get(..end), ended: true })?;
    match (read, body.get(end + 1)) {
        (Some(source), Some(b'\n')) => {
            Ok(Parsed::Header { length: SIGNATURE.len() + end + 2, source: source.0 })
        }
        (_, Some(other)) => Err(Wrong::BareReturn(*other)),
        (_, None) => Ok(Parsed::Incomplete),
    }
}

/// What a whole line says; nothing for UNKNOWN.
struct Source(Option<SocketAddr>);

/// Reads a line, or as much of it as is there: then it finds nothing, or what is wrong so far.
fn read(words: &mut Words<'_>) -> Result<Option<Source>, Wrong> {
    let ended = words.ended;
    match words.next() {
        Some(Word::Whole(b"TCP4")) => read_addresses::<Ipv4Addr>(words, 4),
        Some(Word::Whole(b"TCP6")) => read_addresses::<Ipv6Addr>(words, 6),
        Some(Word::Whole(b"UNKNOWN")) => {
            // What follows is ignored, but nothing that another reader could take for an end.
            let rest = words.rest.unwrap_or_default();
            match rest.iter().find(|byte| !matches!(byte, b' '..=b'~')) {
                Some(found) => Err(Wrong::Unprintable(*found)),
                None => Ok(ended.then_some(Source(None))),
            }
        }
        Some(Word::Open(begun))
            if [&b"TCP4"[..], b"TCP6", b"UNKNOWN"].iter().any(|name| name.starts_with(begun)) =>
        {
            Ok(None)
        }
        Some(Word::Whole(found) | Word::Open(found)) => Err(Wrong::Protocol(Wrong::shown(found))),
        None => Err(Wrong::Missing { field: "protocol" }),
    }
}

fn read_addresses<A: FromStr + Into<IpAddr>>(
    words: &mut Words<'_>,
    version: u8,
) -> Result<Option<Source>, Wrong> {
    let Some(source) = read_address::<A>(words, version, "source address")? else {
        return Ok(None);
    };
    let Some(_) = read_address::<A>(words, version, "destination address")? else {
        return Ok(None);
    };
    let Some(port) = read_port(words, "source port")? else { return Ok(None) };
    let Some(_) = read_port(words, "destination port")? else { return Ok(None) };
    match words.next() {
        Some(Word::Whole(found) | Word::Open(found)) => Err(Wrong::Leftover(Wrong::shown(found))),
        None => Ok(Some(Source(Some(SocketAddr::new(source.to_canonical(), port))))),
    }
}

fn read_address<A: FromStr + Into<IpAddr>>(
    words: &mut Words<'_>,
    version: u8,
    field: &'static str,
) -> Result<Option<IpAddr>, Wrong> {
    let (read, found) = match words.next() {
        Some(Word::Whole(text)) => (address::<A>(text).map(Some), text),
        Some(Word::Open(begun)) => (begins_address::<A>(begun).then_some(None), begun),
        None => return Err(Wrong::Missing { field }),
    };
    read.ok_or_else(|| Wrong::Address { field, version, found: Wrong::shown(found) })
}

fn address<A: FromStr + Into<IpAddr>>(text: &[u8]) -> Option<IpAddr> {
    str::from_utf8(text).ok()?.parse::<A>().ok().map(Into::into)
}

/// Whether a text can still become an address: one of these endings then makes it one.
fn begins_address<A: FromStr + Into<IpAddr>>(begun: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 11] =
        [b"", b"0", b":", b"::", b":0", b".0", b"0.0", b".0.0", b"0.0.0", b".0.0.0", b"0.0.0.0"];
    ENDINGS.iter().any(|ending| address::<A>(&[begun, ending].concat()).is_some())
}

fn read_port(words: &mut Words<'_>, field: &'static str) -> Result<Option<u16>, Wrong> {
    let (read, found) = match words.next() {
        Some(Word::Whole(text)) => (port(text).map(Some), text),
        Some(Word::Open(begun)) => {
            ((begun.is_empty() || port(begun).is_some()).then_some(None), begun)
        }
        None => return Err(Wrong::Missing { field }),
    };
    read.ok_or_else(|| Wrong::Port { field, found: Wrong::shown(found) })
}

fn port(text: &[u8]) -> Option<u16> {
    // Rust would read a sign, and the protocol forbids leading zeros.
    let plain = text == b"0" || matches!(text, [b'1'..=b'9', ..]);
    if plain { str::from_utf8(text).ok()?.parse().ok() } else { None }
}

/// The words of a line, which exactly one blank separates.
struct Words<'l> {
    rest: Option<&'l [u8]>,
    /// Whether the line is all there. If not, its last word may go on.
    ended: bool,
}

enum Word<'l> {
    Whole(&'l [u8]),
    Open(&'l [u8]),
}

impl<'l> Words<'l> {
    fn next(&mut self) -> Option<Word<'l>> {
        let rest = self.rest.take()?;
        let mut parts = rest.splitn(2, |byte| *byte == b' ');
        let word = parts.next()?;
        self.rest = parts.next();
        let open = self.rest.is_none() && !self.ended;
        Some(if open { Word::Open(word) } else { Word::Whole(word) })
    }
}
