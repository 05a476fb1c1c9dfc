//! A cache of limits by what requests send of them: clients repeat a few quotas.
//!
//! Parsing a quota takes longer than deciding a request.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sluicegate::Limit;

/// The number of slots, a power of two.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 6;

/// Limits, each in the one slot that the hash of its key selects.
#[derive(Debug)]
pub(crate) struct LimitCache<K> {
    slots: [Option<(K, Arc<Limit>)>; SLOTS],
}

impl<K> Default for LimitCache<K> {
    fn default() -> Self {
        Self { slots: [const { None }; SLOTS] }
    }
}

impl<K: Hash + Eq> LimitCache<K> {
    /// Returns the limit of a key.
    #[inline]
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&Arc<Limit>>
    where
        K: Borrow<Q>,
    {
        let (cached, limit) = self.slots[slot_of(key)].as_ref()?;
        (cached.borrow() == key).then_some(limit)
    }

    /// Caches the limit of a key in place of the one in its slot.
    pub(crate) fn insert(&mut self, key: K, limit: Arc<Limit>) {
        let slot = slot_of(&key);
        self.slots[slot] = Some((key, limit));
    }
}

/// Returns one of the slots: the top bits of a hash.
#[inline]
fn slot_of<Q: Hash + ?Sized>(key: &Q) -> usize {
    let mut hasher = SlotHasher::default();
    key.hash(&mut hasher);
    usize::try_from(hasher.finish() >> (u64::BITS - SLOT_BITS)).unwrap_or(0)
}

/// A hasher of a few instructions; a caller that makes keys collide slows only itself down.
#[derive(Default)]
struct SlotHasher(u64);

impl Hasher for SlotHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(quota: &str) -> Arc<Limit> {
        Arc::new(Limit::token_bucket("limit", quota.parse().unwrap()).unwrap())
    }

    #[test]
    fn limits_are_found_by_exactly_their_key() {
        let mut limits = LimitCache::<String>::default();
        assert_eq!(limits.get("10/min"), None);
        limits.insert("10/min".to_owned(), limit("10/min"));
        assert_eq!(limits.get("10/min"), Some(&limit("10/min")));
        for other in ["", "10/mi", "10/min ", "10/MIN", "10/minute"] {
            assert_eq!(limits.get(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_slot_keeps_the_last_limit() {
        let (mut limits, first) = (LimitCache::<String>::default(), "10/min");
        // As long as the first, so that only the letters differ.
        let mut others = (1_000..10_000).map(|count| format!("{count}/s"));
        let other = others.find(|text| slot_of(text) == slot_of(first)).unwrap();
        assert_eq!(other.len(), first.len());
        limits.insert(first.to_owned(), limit(first));
        assert_eq!(limits.get(&other), None);
        limits.insert(other.clone(), limit(&other));
        assert_eq!(limits.get(&other), Some(&limit(&other)));
        assert_eq!(limits.get(first), None);
    }

    #[test]
    fn keys_spread_over_all_slots() {
        fn spread<Q: Hash>(key: impl Fn(i64) -> Q) {
            let mut found = [0; SLOTS];
            (1..1_000).for_each(|count| found[slot_of(&key(count))] += 1);
            assert!(found.iter().all(|times| (1..60).contains(times)), "{found:?}");
        }
        spread(|count| format!("{count}/min"));
        spread(|count| (count, count, 60_i64));
    }
}
