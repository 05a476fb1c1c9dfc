//! The name of a counter in 64 bits.

use std::hash::{BuildHasher, RandomState};

use sluicegate_core::{Check, Id};

use super::siphash::siphash13;

/// What a counter is filed under: a hash of the limit's name and the key.
///
/// Two counters of one fingerprint would be one. The hash is keyed, with a key that nobody
/// outside knows: nobody can aim for another caller's counter, or for one line of the table.
/// Among ten million counters, chance lets two meet once in 400,000 stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// Zero is a cell that nobody has.
    #[inline]
    pub(super) const fn new(hash: u64) -> Self {
        Self(if hash == 0 { 1 } else { hash })
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// Its lower bits, to find a place by.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is enough")]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The secret key of a store's hash. A snapshot keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HashKey {
    pub(super) first: u64,
    pub(super) second: u64,
}

impl HashKey {
    /// One that nobody knows.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        Self { first: random.hash_one(1), second: random.hash_one(2) }
    }

    /// The counter of a check.
    #[inline]
    pub(super) fn counter(self, check: &Check<'_>) -> Fingerprint {
        self.hash(check.limit().name_digest(), check.key())
    }

    /// The memory of a settled receipt. Limits' names have digests of their own.
    pub(super) fn receipt(self, receipt: Id) -> Fingerprint {
        self.hash(0, &receipt.to_bits().to_be_bytes())
    }

    #[inline]
    fn hash(self, digest: u64, key: &[u8]) -> Fingerprint {
        // Each limit has a hash of its own, for the price of one.
        Fingerprint::new(siphash13(self.first ^ digest, self.second, key))
    }
}

#[cfg(test)]
mod tests {
    use siphasher::sip::SipHasher13;

    use super::*;

    #[test]
    fn it_is_the_siphash_that_others_have() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            for (first, second) in [(0, 0), (1, u64::MAX), (0x0123_4567_89AB_CDEF, 42)] {
                let theirs = SipHasher13::new_with_keys(first, second).hash(&bytes[..length]);
                assert_eq!(siphash13(first, second, &bytes[..length]), theirs, "{length} bytes");
            }
        }
    }
}
