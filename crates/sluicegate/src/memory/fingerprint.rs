//! The fingerprint of a counter, in 64 bits.

use std::hash::{BuildHasher, RandomState};

use sluicegate_core::{ChargeId, Check};

use super::siphash::siphash13;

/// The identity of a counter: a keyed hash of the limit's name and the key.
///
/// Two counters with one fingerprint would be merged. The hash key is secret, so an attacker can
/// target neither another caller's counter nor a line of the table. Among ten million counters,
/// one store in 400,000 has a collision by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// Zero marks a free cell.
    #[inline]
    pub(super) const fn new(hash: u64) -> Self {
        Self(if hash == 0 { 1 } else { hash })
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the lower bits, as an index.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is enough")]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The secret key of a store's hash, which snapshots contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HashKey {
    pub(super) first: u64,
    pub(super) second: u64,
}

impl HashKey {
    /// Creates a random key.
    pub(super) fn random() -> Self {
        let random = RandomState::new();
        Self { first: random.hash_one(1), second: random.hash_one(2) }
    }

    /// Returns the fingerprint of a check's counter.
    #[inline]
    pub(super) fn counter(self, check: &Check<'_>) -> Fingerprint {
        self.hash(check.limit().name_digest(), check.key())
    }

    /// Returns the fingerprint of a settled receipt. The digests of limit names differ from it.
    pub(super) fn receipt(self, receipt: ChargeId) -> Fingerprint {
        self.hash(0, &receipt.to_bits().to_be_bytes())
    }

    #[inline]
    fn hash(self, digest: u64, key: &[u8]) -> Fingerprint {
        // A hash per limit at the cost of one.
        Fingerprint::new(siphash13(self.first ^ digest, self.second, key))
    }
}

#[cfg(test)]
mod tests {
    use siphasher::sip::SipHasher13;

    use super::*;

    #[test]
    fn it_equals_the_reference_siphash() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            for (first, second) in [(0, 0), (1, u64::MAX), (0x0123_4567_89AB_CDEF, 42)] {
                let theirs = SipHasher13::new_with_keys(first, second).hash(&bytes[..length]);
                assert_eq!(siphash13(first, second, &bytes[..length]), theirs, "{length} bytes");
            }
        }
    }
}
