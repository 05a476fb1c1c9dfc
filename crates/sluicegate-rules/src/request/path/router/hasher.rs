//! A fast hash function for the segments of patterns.

use core::hash::{BuildHasherDefault, Hasher};

/// The hash builder of the router's tables.
///
/// The keys of a table come only from the rule file. Requests only look them up, so clients cannot
/// fill a table with colliding keys, and the hash does not have to resist that.
pub(super) type Hashing = BuildHasherDefault<WordHasher>;

/// A hasher that mixes in eight bytes at a time.
#[derive(Default)]
pub(super) struct WordHasher(u64);

/// An odd number with its bits well spread: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl WordHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(SPREAD);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.mix(rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.write(&number.to_le_bytes());
    }

    /// Folds the high bits in, because a product carries only upwards and tables use the low bits.
    fn finish(&self) -> u64 {
        let folded = (self.0 ^ self.0 >> 32).wrapping_mul(SPREAD);
        folded ^ folded >> 29
    }
}
