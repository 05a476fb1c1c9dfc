//! Limits at hand: most clients bring the same few quotas again and again, and to read one takes longer
//! than to decide by it.

use std::cell::RefCell;
use std::sync::Arc;

use sluicegate::Limit;

/// How many are kept, for each thread.
const KEPT: usize = 64;
/// Longer texts are not kept.
const LONGEST: usize = 64;

/// Limits, each in the one place that its text has.
#[derive(Default)]
struct Limits {
    kept: Vec<Option<(String, Arc<Limit>)>>,
}

thread_local! {
    static LIMITS: RefCell<Limits> = RefCell::default();
}

/// The limit that a quota's text is, if it has been here before.
pub(super) fn known(text: &str) -> Option<Arc<Limit>> {
    LIMITS.with_borrow(|limits| limits.known(text))
}

/// Keeps what a quota's text is for the next who brings it.
pub(super) fn keep(text: String, limit: &Arc<Limit>) {
    if text.len() <= LONGEST {
        LIMITS.with_borrow_mut(|limits| limits.keep(text, Arc::clone(limit)));
    }
}

impl Limits {
    fn known(&self, text: &str) -> Option<Arc<Limit>> {
        let (kept, limit) = self.kept.get(place(text))?.as_ref()?;
        (kept == text).then(|| Arc::clone(limit))
    }

    fn keep(&mut self, text: String, limit: Arc<Limit>) {
        self.kept.resize(KEPT, None);
        if let Some(kept) = self.kept.get_mut(place(&text)) {
            *kept = Some((text, limit));
        }
    }
}

/// One of 64 places, which the top six bits of a product tell.
fn place(text: &str) -> usize {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(text.as_bytes().iter().take(LONGEST).fold(0, mix) >> 58).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(quota: &str) -> Arc<Limit> {
        Arc::new(Limit::token_bucket("limit", quota.parse().unwrap()).unwrap())
    }

    #[test]
    fn what_was_kept_is_known_by_exactly_its_text() {
        let mut limits = Limits::default();
        assert_eq!(limits.known("10/min"), None);
        limits.keep("10/min".to_owned(), limit("10/min"));
        assert_eq!(limits.known("10/min"), Some(limit("10/min")));
        for other in ["", "10/mi", "10/min ", "10/MIN", "10/minute"] {
            assert_eq!(limits.known(other), None, "{other:?}");
        }
    }

    #[test]
    fn of_two_in_one_place_the_last_is_known() {
        let (mut limits, first) = (Limits::default(), "10/min");
        // As long as the first, so that nothing but its letters tells them apart.
        let mut others = (1_000..10_000).map(|count| format!("{count}/s"));
        let other = others.find(|text| place(text) == place(first)).unwrap();
        assert_eq!(other.len(), first.len());
        limits.keep(first.to_owned(), limit(first));
        assert_eq!(limits.known(&other), None);
        limits.keep(other.clone(), limit(&other));
        assert_eq!(limits.known(&other), Some(limit(&other)));
        assert_eq!(limits.known(first), None);
    }

    #[test]
    fn quotas_spread_over_all_places() {
        let mut found = [0; KEPT];
        (1..1_000).for_each(|count| found[place(&format!("{count}/min"))] += 1);
        assert!(found.iter().all(|times| (1..60).contains(times)), "{found:?}");
    }

    #[test]
    fn a_text_that_is_too_long_is_not_kept() {
        let text = format!("10/min{}", " ".repeat(LONGEST));
        keep(text.clone(), &limit("10/min"));
        assert_eq!(known(&text), None);
    }
}
