//! The buffer for the keys of a plan.

use std::ops::Range;

/// A growing list of bytes, stored inline while it is short.
///
/// Not a `SmallVec`: keys consist of many short parts, and appending one to a `SmallVec` costs as
/// much as finding its value in a request.
#[derive(Debug)]
pub(crate) struct KeyBuffer {
    few: [u8; FEW],
    length: usize,
    /// All bytes, once they no longer fit inline.
    many: Vec<u8>,
}

/// The inline capacity, enough for the keys of nearly all requests.
const FEW: usize = 256;

impl Default for KeyBuffer {
    fn default() -> Self {
        Self { few: [0; FEW], length: 0, many: Vec::new() }
    }
}

impl KeyBuffer {
    pub(crate) fn len(&self) -> usize {
        if self.many.is_empty() { self.length } else { self.many.len() }
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.many.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if self.many.is_empty()
            && let Some(place) = self.few.get_mut(self.length..end)
        {
            place.copy_from_slice(bytes);
            self.length = end;
        } else {
            self.push_many(bytes);
        }
    }

    #[cold]
    fn push_many(&mut self, bytes: &[u8]) {
        if self.many.is_empty() {
            self.many.extend_from_slice(&self.few[..self.length]);
        }
        self.many.extend_from_slice(bytes);
    }

    pub(crate) fn get(&self, range: Range<usize>) -> &[u8] {
        let all = if self.many.is_empty() { &self.few[..self.length] } else { &self.many[..] };
        all.get(range).unwrap_or_default()
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.get(0..self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_in_order_for_any_length() {
        let (mut keys, mut model) = (KeyBuffer::default(), Vec::new());
        for round in 0..2 {
            for length in [0, 1, 3, 100, 150, 2, 0, 1_000, 5].into_iter().skip(round) {
                let part = vec![u8::try_from(length % 251).unwrap(); length];
                keys.push(&part);
                model.extend_from_slice(&part);
                assert_eq!(keys.as_slice(), model);
                assert_eq!(keys.len(), model.len());
            }
            keys.clear();
            model.clear();
        }
        assert_eq!(keys.get(5..9), b"");
    }
}
