//! The `Forwarded` header of RFC 7239, read from its right end.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use super::parse;

/// The elements of one header line, the last one first.
///
/// Reading starts at the right because that end was written by the nearest proxy. A reader that
/// starts at the left can be misled: an unclosed quote of the sender would swallow the elements
/// that the proxies appended.
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

/// The bytes before and after the byte at `at`.
fn around(text: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    let (before, behind) = text.split_at_checked(at)?;
    Some((before, behind.get(1..)?))
}

/// The position of the last comma outside quotes.
///
/// Seen from the right, the first quote closes a string and the next one that is not escaped
/// opens it. An opening quote follows `=`, so that there is no ambiguity which one it is.
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

/// The address in the `for` parameter of an element.
pub(super) fn read(element: &[u8]) -> Option<IpAddr> {
    let mut rest = parse::trimmed(element);
    let mut address = None;
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(b";") {
            rest = parse::trimmed(behind);
            continue;
        }
        let pair = Pair::first_of(rest)?;
        if pair.name.eq_ignore_ascii_case(b"for") && address.replace(pair.value).is_some() {
            // Repeated: either value could be the real one.
            return None;
        }
        rest = parse::trimmed(pair.behind);
        if !rest.is_empty() && !rest.starts_with(b";") {
            return None;
        }
    }
    // A backslash makes any address unreadable; no address needs one.
    parse::read_bare(address?)
}

/// `name=value`, and the text that follows it.
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
