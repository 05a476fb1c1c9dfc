//! Parser for one address as proxies write it: with ports, brackets, quotes or zones.

use std::net::{IpAddr, Ipv6Addr};

/// The address in one entry of a list; `None` if the entry is not an address.
pub(crate) fn read(entry: &[u8]) -> Option<IpAddr> {
    let entry = trimmed(entry);
    let unquoted = entry.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    read_bare(unquoted.unwrap_or(entry))
}

/// The address in an entry without blanks or quotes. An IPv4-mapped address becomes IPv4.
pub(super) fn read_bare(node: &[u8]) -> Option<IpAddr> {
    let node = std::str::from_utf8(node).ok()?;
    if let Some(bracketed) = node.strip_prefix('[') {
        let (address, after) = bracketed.split_once(']')?;
        if !after.is_empty() && !is_port(after.strip_prefix(':')?) {
            return None;
        }
        return read_six(address);
    }
    match node.split_once(':') {
        None => node.parse().ok().map(IpAddr::V4),
        // More than one colon without brackets can only be an address without a port: a port
        // would look like its last group.
        Some((_, rest)) if rest.contains(':') => read_six(node),
        Some((address, port)) if is_port(port) => address.parse().ok().map(IpAddr::V4),
        Some(_) => None,
    }
}

fn read_six(text: &str) -> Option<IpAddr> {
    // A zone names an interface of the machine that wrote it and means nothing here.
    let address = match text.split_once('%') {
        Some((address, zone)) if is_zone(zone) => address,
        Some(_) => return None,
        None => text,
    };
    address.parse::<Ipv6Addr>().ok().map(|address| address.to_canonical())
}

fn is_zone(text: &str) -> bool {
    let may_be_in_it = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    !text.is_empty() && text.bytes().all(may_be_in_it)
}

/// A port, or the word with an underscore that RFC 7239 lets a proxy write to hide it.
fn is_port(text: &str) -> bool {
    if let Some(hidden) = text.strip_prefix('_') {
        let may_be_in_it = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        return !hidden.is_empty() && hidden.bytes().all(may_be_in_it);
    }
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && text.parse::<u16>().is_ok()
}

/// Removes the blanks and tabs that may surround list entries. HTTP counts nothing else as white
/// space.
pub(super) fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
