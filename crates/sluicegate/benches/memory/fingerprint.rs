//! A key as 64 bits.

use std::hash::{BuildHasher, RandomState};

/// The same hash as the store's, so that only the table differs.
#[path = "../../src/memory/siphash.rs"]
mod siphash;

pub(crate) trait Fingerprint: Sync {
    fn of(&self, key: &[u8]) -> u64;
}

/// Keyed, so that an attacker cannot choose keys that collide.
pub(crate) struct KeyedHash(u64, u64);

impl KeyedHash {
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        Self(random.hash_one(0), random.hash_one(1))
    }
}

impl Fingerprint for KeyedHash {
    #[inline]
    fn of(&self, key: &[u8]) -> u64 {
        siphash::siphash13(self.0, self.1, key)
    }
}

/// Two multiplications, each folded onto itself. Collisions are easy to construct: it is here to
/// show the cost of the keyed hash, not for use.
pub(crate) struct FoldedHash;

impl Fingerprint for FoldedHash {
    #[inline]
    fn of(&self, key: &[u8]) -> u64 {
        let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) else {
            unreachable!("every key of this benchmark has 15 bytes")
        };
        let first = u64::from_le_bytes(*first) ^ 0x243f_6a88_85a3_08d3;
        let last = u64::from_le_bytes(*last) ^ 0x1319_8a2e_0370_7344;
        fold(fold(first, last), 0x9e37_79b9_7f4a_7c15)
    }
}

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}
