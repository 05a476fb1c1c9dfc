//! The `Forwarded` header of RFC 7239, read from its right end.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use super::node;

/// The elements of one header line, the last one first.
///
/// Reading starts at the right because that end was written by the nearest proxy. A reader that
/// starts at the left can be led astray: a quote that the sender opened and never closed would
/// swallow what the proxies wrote behind it.
pub(super) struct ElementsFromRight<'h> {
    rest: Option<&'h [u8]>,
}

impl<'h> ElementsFromRight<'h> {
    pub(super) const fn of(line: &'h [u8]) -> Self {
        Self { rest: Some(line) }
    }
}

impl<'h> Iterator for ElementsFromRight<'h> {
    type Item = &'h [u8];

    fn next(&mut self) -> Option<&'h [u8]> {
        let rest = self.rest.take()?;
        let Some((before, element)) = comma_from_right(rest).and_then(|at| around(rest, at)) else {
            return Some(rest);
        };
        self.rest = Some(before);
        Some(element)
    }
}

/// What stands before and behind the byte at `at`.
fn around(text: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    let (before, behind) = text.split_at_checked(at)?;
    Some((before, behind.get(1..)?))
}

/// Where the last comma is that stands outside of quotes.
///
/// Seen from the right, the first quote closes a string and the next one that is not escaped
/// opens it. An opening quote follows `=`, so that there is no doubt which one it is.
fn comma_from_right(line: &[u8]) -> Option<usize> {
    let mut quoted = false;
    for (at, byte) in line.iter().enumerate().rev() {
        match byte {
            b'"' if quoted => quoted = is_escaped(line, at),
            b'"' => quoted = true,
            b',' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether an odd number of backslashes precedes.
fn is_escaped(line: &[u8], at: usize) -> bool {
    let before = line.iter().take(at).rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The address that an element says it was forwarded for.
pub(super) fn read(element: &[u8]) -> Option<IpAddr> {
    let mut rest = node::trimmed(element);
    let mut address = None;
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(b";") {
            rest = node::trimmed(behind);
            continue;
        }
        let pair = Pair::first_of(rest)?;
        if pair.name.eq_ignore_ascii_case(b"for") && address.replace(pair.value).is_some() {
            // Which of the two is meant would be a guess.
            return None;
        }
        rest = node::trimmed(pair.behind);
        if !rest.is_empty() && !rest.starts_with(b";") {
            return None;
        }
    }
    // A backslash makes any address unreadable, as it should: nobody has to escape in one.
    node::read_bare(address?)
}

/// `name=value`, and what follows it.
struct Pair<'h> {
    name: &'h [u8],
    value: &'h [u8],
    behind: &'h [u8],
}

impl<'h> Pair<'h> {
    fn first_of(text: &'h [u8]) -> Option<Self> {
        let equals = text.iter().position(|byte| *byte == b'=')?;
        let (name, after) = around(text, equals)?;
        if name.is_empty() || !name.iter().all(|byte| is_of_token(*byte)) {
            return None;
        }
        let (value, behind) = match after.strip_prefix(b"\"") {
            Some(inside) => around(inside, closing_quote(inside)?)?,
            None => plain_value(after)?,
        };
        Some(Self { name, value, behind })
    }
}

fn closing_quote(inside: &[u8]) -> Option<usize> {
    let mut escaped = false;
    inside.iter().position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    })
}

/// A value without quotes. Colons and brackets should not be in one, but widely are.
fn plain_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| b"; \t".contains(byte)).unwrap_or(text.len());
    let (value, behind) = text.split_at_checked(end)?;
    (!value.is_empty() && !value.contains(&b'"')).then_some((value, behind))
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
