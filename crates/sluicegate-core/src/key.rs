//! Composite keys that are unambiguous in their parts.

use core::borrow::Borrow;

use crate::varint;

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
        varint::put(out, part.len() as u64);
        out.extend(part.iter().copied());
    }

    /// Returns the part at the start of `bytes`, and removes it from them; `None` if it is cut off.
    ///
    /// ```
    /// use sluicegate_core::Key;
    ///
    /// let key = Key::of(["tenant-7", "user:42"]);
    /// let mut left = key.as_ref();
    /// assert_eq!(Key::read_part(&mut left), Some(&b"tenant-7"[..]));
    /// assert_eq!(Key::read_part(&mut left), Some(&b"user:42"[..]));
    /// assert_eq!(Key::read_part(&mut left), None);
    /// ```
    pub fn read_part<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
        let length = varint::read(bytes).ok()?;
        bytes.split_off(..usize::try_from(length).ok()?)
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
