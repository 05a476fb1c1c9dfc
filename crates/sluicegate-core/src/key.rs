//! Composite keys that are unambiguous in their parts.

use core::borrow::Borrow;

/// A key made of several parts.
///
/// Each part is preceded by its length, so `("a_b", "c")` and `("a", "b_c")`, which look
/// alike when joined by an underscore, are different keys.
///
/// ```
/// use sluicegate_core::Key;
///
/// let key = Key::of(["tenant-7", "user:42"]);
/// assert_ne!(key, Key::of(["tenant-7user:42"]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Key(Vec<u8>);

impl Key {
    /// Creates the key of these parts, in this order.
    pub fn of<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> Self {
        let mut key = Self::default();
        for part in parts {
            key.push(part.as_ref());
        }
        key
    }

    /// Appends a part.
    pub fn push(&mut self, part: &[u8]) {
        Self::append(&mut self.0, part);
    }

    /// Appends one part to `out` in the encoding of keys.
    pub fn append(out: &mut impl Extend<u8>, part: &[u8]) {
        // LEB128: the length in groups of seven bits, the last one without the high bit.
        let mut length = part.len();
        while length >= 0x80 {
            out.extend([length.to_le_bytes()[0] | 0x80]);
            length >>= 7;
        }
        out.extend([length.to_le_bytes()[0]]);
        out.extend(part.iter().copied());
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}
