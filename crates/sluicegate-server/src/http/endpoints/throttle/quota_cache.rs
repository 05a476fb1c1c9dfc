//! A cache of parsed quotas, by their text.
//!
//! Clients repeat a few quotas, and parsing one takes longer than deciding a request.

use std::cell::RefCell;
use std::sync::Arc;

use sluicegate::Limit;

/// The number of slots of each thread.
const SLOTS: usize = 64;
/// The length of the longest text that is cached.
const MAX_TEXT: usize = 64;

/// Limits, each in the one slot that the hash of its text selects.
#[derive(Default)]
struct QuotaCache {
    slots: Vec<Option<(String, Arc<Limit>)>>,
}

thread_local! {
    static LIMITS: RefCell<QuotaCache> = RefCell::default();
}

/// Returns the cached limit of a quota's text.
pub(super) fn get(text: &str) -> Option<Arc<Limit>> {
    LIMITS.with_borrow(|limits| limits.get(text))
}

/// Caches the limit of a quota's text.
pub(super) fn insert(text: String, limit: &Arc<Limit>) {
    if text.len() <= MAX_TEXT {
        LIMITS.with_borrow_mut(|limits| limits.insert(text, Arc::clone(limit)));
    }
}

impl QuotaCache {
    fn get(&self, text: &str) -> Option<Arc<Limit>> {
        let (cached, limit) = self.slots.get(slot_of(text))?.as_ref()?;
        (cached == text).then(|| Arc::clone(limit))
    }

    fn insert(&mut self, text: String, limit: Arc<Limit>) {
        self.slots.resize(SLOTS, None);
        if let Some(slot) = self.slots.get_mut(slot_of(&text)) {
            *slot = Some((text, limit));
        }
    }
}

/// Returns one of 64 slots: the top six bits of a hash.
fn slot_of(text: &str) -> usize {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(text.as_bytes().iter().take(MAX_TEXT).fold(0, mix) >> 58).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(quota: &str) -> Arc<Limit> {
        Arc::new(Limit::token_bucket("limit", quota.parse().unwrap()).unwrap())
    }

    #[test]
    fn limits_are_found_by_exactly_their_text() {
        let mut limits = QuotaCache::default();
        assert_eq!(limits.get("10/min"), None);
        limits.insert("10/min".to_owned(), limit("10/min"));
        assert_eq!(limits.get("10/min"), Some(limit("10/min")));
        for other in ["", "10/mi", "10/min ", "10/MIN", "10/minute"] {
            assert_eq!(limits.get(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_slot_keeps_the_last_limit() {
        let (mut limits, first) = (QuotaCache::default(), "10/min");
        // As long as the first, so that only the letters differ.
        let mut others = (1_000..10_000).map(|count| format!("{count}/s"));
        let other = others.find(|text| slot_of(text) == slot_of(first)).unwrap();
        assert_eq!(other.len(), first.len());
        limits.insert(first.to_owned(), limit(first));
        assert_eq!(limits.get(&other), None);
        limits.insert(other.clone(), limit(&other));
        assert_eq!(limits.get(&other), Some(limit(&other)));
        assert_eq!(limits.get(first), None);
    }

    #[test]
    fn quotas_spread_over_all_slots() {
        let mut found = [0; SLOTS];
        (1..1_000).for_each(|count| found[slot_of(&format!("{count}/min"))] += 1);
        assert!(found.iter().all(|times| (1..60).contains(times)), "{found:?}");
    }

    #[test]
    fn long_texts_are_not_cached() {
        let text = format!("10/min{}", " ".repeat(MAX_TEXT));
        insert(text.clone(), &limit("10/min"));
        assert_eq!(get(&text), None);
    }
}
