//! The contenders: the same budget, the same keys.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::DefaultKeyedRateLimiter;
use sluicegate::{Check, Decision, Limit, Limiter, Quota, Span};

use crate::fingerprint::Fingerprint;
use crate::floor::Floor;

pub(crate) const OURS: &str = "ours";
pub(crate) const FLOOR: &str = "floor";
pub(crate) const FAST_FLOOR: &str = "floor, fast hash";
pub(crate) const GOVERNOR: &str = "governor";
pub(crate) const NAMES: [&str; 4] = [OURS, FLOOR, FAST_FLOOR, GOVERNOR];

/// One unit comes back every `unit` microseconds, up to `burst`.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) unit: u64,
    pub(crate) burst: u32,
}

impl Budget {
    /// More than any key uses in a run.
    pub(crate) const ENDLESS: Self = Self { unit: 1, burst: 1_000_000_000 };
    /// Never used up either, and so slow that no key recovers, and becomes evictable, during a
    /// measurement.
    pub(crate) const LASTING: Self = Self { unit: 100_000_000, burst: 10_000_000 };
    /// Used up by the first check.
    pub(crate) const TINY: Self = Self { unit: 86_400_000_000, burst: 1 };

    pub(crate) fn limit(self, name: &'static str) -> Limit {
        let quota = Quota::new(1, Span::from_micros(self.unit)).unwrap();
        Limit::token_bucket(name, quota.with_burst(self.burst.into()).unwrap()).unwrap()
    }

    fn governor(self) -> governor::Quota {
        let burst = NonZeroU32::new(self.burst).unwrap();
        governor::Quota::with_period(Duration::from_micros(self.unit)).unwrap().allow_burst(burst)
    }
}

/// Decisions are returned in full, as to a caller that reads all of them: no part may be left
/// uncomputed because only the admission is counted here.
pub(crate) trait Contender<'k>: Sync {
    /// Checks each of the keys; returns how many were admitted.
    fn check_all(&self, keys: &[&'k str]) -> usize;
}

fn count<'k>(keys: &[&'k str], admits: impl Fn(&'k str) -> bool) -> usize {
    keys.iter().filter(|key| admits(key)).count()
}

/// Sluicegate through its public API, on its default store.
pub(crate) struct Sluicegate {
    pub(crate) limiter: Limiter,
    pub(crate) limit: Limit,
}

impl Sluicegate {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { limiter: Limiter::in_memory(), limit: budget.limit("api") }
    }

    #[inline]
    pub(crate) fn check(&self, key: &str) -> bool {
        let answer = self.limiter.check(Check::new(&self.limit, key)).now();
        black_box(&answer).as_ref().is_ok_and(Decision::is_allowed)
    }
}

impl<'k> Contender<'k> for Sluicegate {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        count(keys, |key| self.check(key))
    }
}

impl<'k, F: Fingerprint> Contender<'k> for Floor<F> {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        count(keys, |key| black_box(self.check(key.as_bytes())).0)
    }
}

/// Governor with its defaults: store, clock, and an answer without the remaining units.
///
/// For speed its keys are borrowed texts, which saves copying them; for memory they are `String`s.
pub(crate) struct Governor<K: Clone + Eq + std::hash::Hash>(DefaultKeyedRateLimiter<K>);

impl<K: Clone + Eq + std::hash::Hash> Governor<K> {
    pub(crate) fn new(budget: Budget) -> Self {
        Self(DefaultKeyedRateLimiter::keyed(budget.governor()))
    }

    #[inline]
    pub(crate) fn check(&self, key: &K) -> bool {
        black_box(&self.0.check_key(key)).is_ok()
    }
}

impl<'k> Contender<'k> for Governor<&'k str> {
    fn check_all(&self, keys: &[&'k str]) -> usize {
        count(keys, |key| self.check(&key))
    }
}
