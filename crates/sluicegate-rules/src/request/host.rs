//! The host of a request, normalized for comparison with rules.

mod pattern;
#[cfg(test)]
mod tests;

use core::net::Ipv6Addr;
use std::io::Write;

use smallvec::SmallVec;

pub(crate) use self::pattern::HostPattern;

/// Holds an ordinary name without a heap allocation.
type Buffer = SmallVec<[u8; 64]>;

/// The longest spelling of an IPv6 address with brackets: the one that ends like IPv4.
const LONGEST_ADDRESS: usize = "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]".len();

/// A normalized host: lower case, without port and trailing dot.
#[derive(Debug)]
pub(crate) struct HostName<'r> {
    /// The name as it was sent, if that is already normalized.
    as_sent: Option<&'r [u8]>,
    written: Buffer,
}

impl<'r> HostName<'r> {
    /// Parses the value of `Host` or `:authority`.
    ///
    /// `None` means that the value is not a host: it is empty, has spaces, a user, an empty label
    /// or a port that is not a number. Such a request must be refused, or held to the rules of
    /// every host: otherwise it would escape every limit.
    pub(crate) fn of(value: &'r (impl AsRef<[u8]> + ?Sized)) -> Option<Self> {
        let value = value.as_ref();
        if value.starts_with(b"[") {
            return Self::of_address(value);
        }
        let name = match value.iter().position(|&byte| byte == b':') {
            Some(colon) => {
                is_port(value.get(colon..)?).then_some(())?;
                value.get(..colon)?
            }
            None => value,
        };
        let name = name.strip_suffix(b".").unwrap_or(name);
        // Unusual characters are kept, because an upstream may accept them in a host.
        let fits = |byte: u8| !byte.is_ascii_control() && !b" @/\\?#[]".contains(&byte);
        let full = |label: &[u8]| !label.is_empty();
        if !name.iter().all(|&byte| fits(byte)) || !name.split(|&byte| byte == b'.').all(full) {
            return None;
        }
        if name.iter().any(u8::is_ascii_uppercase) {
            let written = name.iter().map(u8::to_ascii_lowercase).collect();
            return Some(Self { as_sent: None, written });
        }
        Some(Self { as_sent: Some(name), written: Buffer::new() })
    }

    /// The normalized spelling.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.as_sent.unwrap_or(&self.written)
    }

    /// An IPv6 address in brackets, in its shortest spelling.
    fn of_address(value: &'r [u8]) -> Option<Self> {
        let close = value.iter().position(|&byte| byte == b']')?;
        let behind = value.get(close + 1..)?;
        (behind.is_empty() || is_port(behind)).then_some(())?;
        let text = core::str::from_utf8(value.get(1..close)?).ok()?;
        let address: Ipv6Addr = text.parse().ok()?;
        let mut room = [0; LONGEST_ADDRESS];
        let mut free = room.as_mut_slice();
        write!(free, "[{address}]").ok()?;
        let length = LONGEST_ADDRESS - free.len();
        let written = Buffer::from_slice(room.get(..length)?);
        let name = value.get(..=close)?;
        let as_sent = (*name == *written).then_some(name);
        Some(Self { as_sent, written })
    }
}

/// Whether this is `:` and a port; the number may be left out.
fn is_port(text: &[u8]) -> bool {
    text.strip_prefix(b":").is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}
