//! The deny cache: the last state of counters that was seen in the store.
//!
//! A take is admitted only while something is left, so a counter that was seen with nothing left
//! keeps its state until it has refilled: the store would refuse, with the wait that can be
//! computed here. Refunds, settlements, unconditional charges and takes that wait for their turn
//! change it all the same. The script publishes those, and the cached state is dropped. Without the
//! store, the last state is the one that the fallback starts from.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluicegate_core::{State, Time};

use crate::script::Counter;

/// Entries of the cache, each shared by many counters: frequent ones prevail. About 7 MB.
const ENTRIES: usize = 1 << 16;
/// The epoch while invalidations are not received.
const NOT_SUBSCRIBED: u64 = 0;

/// The last state of counters that was seen in the store.
#[derive(Debug)]
pub(crate) struct DenyCache {
    entries: Box<[Mutex<CacheEntry>]>,
    hasher: RandomState,
    /// Counts the subscriptions to servers.
    subscriptions: AtomicU64,
}

/// The subscription to the invalidations of one server: its number, unique across servers, or
/// [`NOT_SUBSCRIBED`].
#[derive(Debug, Default)]
pub(crate) struct InvalidationEpoch {
    number: AtomicU64,
    /// When it began, by this machine. Earlier calls may have missed an invalidation.
    since: AtomicU64,
}

impl InvalidationEpoch {
    /// Ends the subscription.
    pub(crate) fn stop(&self) {
        self.number.store(NOT_SUBSCRIBED, Ordering::SeqCst);
    }

    fn current(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }
}

#[derive(Debug, Default)]
struct CacheEntry {
    cached: Option<CachedState>,
    /// When a counter of this entry was last invalidated: answers to earlier calls are outdated.
    forgotten: Time,
}

/// The state of one counter, and when it was seen.
#[derive(Debug, Clone)]
pub(crate) struct CachedState {
    counter: Counter,
    pub(crate) state: State,
    /// The store's time of the answer.
    now: Time,
    /// When the call was sent and answered, by this machine.
    sent: Time,
    received: Time,
    epoch: u64,
}

/// When an answer was made: the store's time, between two times of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObservedAt {
    pub(crate) now: Time,
    pub(crate) sent: Time,
    pub(crate) received: Time,
}

impl CachedState {
    /// The latest possible time in the store: a refusal at that time is certain.
    pub(crate) fn at_latest(&self, machine: Time) -> Time {
        self.now + machine.since(self.sent)
    }

    /// The earliest possible time in the store: a wait computed from it is long enough.
    pub(crate) fn at_earliest(&self, machine: Time) -> Time {
        self.now + machine.since(self.received)
    }
}

impl DenyCache {
    pub(crate) fn new() -> Self {
        let entries = (0..ENTRIES).map(|_| Mutex::default()).collect();
        Self { entries, hasher: RandomState::new(), subscriptions: AtomicU64::new(NOT_SUBSCRIBED) }
    }

    /// Starts a subscription. States that were cached before may have missed an invalidation.
    pub(crate) fn subscribe(&self, epoch: &InvalidationEpoch, machine: Time) {
        let subscriptions = self.subscriptions.fetch_add(1, Ordering::SeqCst) + 1;
        epoch.since.store(machine.as_micros(), Ordering::SeqCst);
        epoch.number.store(subscriptions, Ordering::SeqCst);
    }

    /// Returns a state that may refuse without a call, if its server's subscription still holds.
    pub(crate) fn trusted(
        &self,
        counter: Counter,
        epoch: &InvalidationEpoch,
    ) -> Option<CachedState> {
        let epoch = epoch.current();
        let entry = self.entry(counter);
        let cached = entry.cached.as_ref()?;
        (cached.counter == counter && cached.epoch == epoch && epoch != NOT_SUBSCRIBED)
            .then(|| cached.clone())
    }

    /// Removes and returns a cached state of any age.
    pub(crate) fn take(&self, counter: Counter) -> Option<State> {
        let mut entry = self.entry(counter);
        let cached = entry.cached.take_if(|cached| cached.counter == counter)?;
        Some(cached.state)
    }

    /// Caches a state that a server returned.
    pub(crate) fn put(
        &self,
        counter: Counter,
        state: &State,
        when: ObservedAt,
        epoch: &InvalidationEpoch,
    ) {
        let (epoch, since) = (epoch.current(), epoch.since.load(Ordering::SeqCst));
        let epoch = if when.sent.as_micros() < since { NOT_SUBSCRIBED } else { epoch };
        let mut entry = self.entry(counter);
        // Only for one server, because another one's clock cannot tell which state is newer.
        let newer = |cached: &CachedState| {
            cached.counter == counter && cached.epoch == epoch && cached.now > when.now
        };
        if when.sent < entry.forgotten || entry.cached.as_ref().is_some_and(newer) {
            return;
        }
        let ObservedAt { now, sent, received } = when;
        let state = state.clone();
        entry.cached = Some(CachedState { counter, state, now, sent, received, epoch });
    }

    /// Drops the cached state of a counter after an invalidation.
    pub(crate) fn forget(&self, counter: Counter, machine: Time) {
        let mut entry = self.entry(counter);
        entry.cached.take_if(|cached| cached.counter == counter);
        entry.forgotten = entry.forgotten.max(machine);
    }

    fn entry(&self, counter: Counter) -> MutexGuard<'_, CacheEntry> {
        let hash = self.hasher.hash_one(counter);
        let index = usize::try_from(hash % ENTRIES as u64).unwrap_or(0);
        self.entries[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Counter = Counter::from_bits(7);

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    fn state(full_at: u64) -> State {
        State::whole_bucket(at(full_at))
    }

    fn when(now: u64, sent: u64) -> ObservedAt {
        ObservedAt { now: at(now), sent: at(sent), received: at(sent + 10) }
    }

    fn trusted(cache: &DenyCache, epoch: &InvalidationEpoch) -> Option<State> {
        cache.trusted(COUNTER, epoch).map(|cached| cached.state)
    }

    #[test]
    fn cached_states_hold_while_subscribed() {
        let (cache, epoch) = (DenyCache::new(), InvalidationEpoch::default());
        cache.put(COUNTER, &state(500), when(100, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), None, "there is no subscription");
        cache.subscribe(&epoch, at(0));
        assert_eq!(trusted(&cache, &epoch), None, "an invalidation may be missing");
        cache.put(COUNTER, &state(500), when(100, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), Some(state(500)));
        epoch.stop();
        assert_eq!(trusted(&cache, &epoch), None);
        assert_eq!(cache.take(COUNTER), Some(state(500)), "it still seeds the fallback");
        assert_eq!(cache.take(COUNTER), None, "once");
    }

    #[test]
    fn answers_to_calls_before_an_invalidation_are_dropped() {
        let (cache, epoch) = (DenyCache::new(), InvalidationEpoch::default());
        cache.subscribe(&epoch, at(0));
        cache.forget(COUNTER, at(1_005));
        cache.put(COUNTER, &state(500), when(100, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), None, "the call was sent before");
        cache.put(COUNTER, &state(400), when(110, 1_005), &epoch);
        assert_eq!(trusted(&cache, &epoch), Some(state(400)));
        cache.forget(COUNTER, at(1_020));
        assert_eq!(trusted(&cache, &epoch), None);
    }

    #[test]
    fn an_older_answer_does_not_replace_a_newer_one() {
        let (cache, epoch) = (DenyCache::new(), InvalidationEpoch::default());
        cache.subscribe(&epoch, at(0));
        cache.put(COUNTER, &state(600), when(200, 1_000), &epoch);
        cache.put(COUNTER, &state(500), when(199, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), Some(state(600)));
        cache.put(COUNTER, &state(700), when(200, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), Some(state(700)), "of equal times the last");
    }

    #[test]
    fn the_time_in_the_store_is_bounded() {
        let (cache, epoch) = (DenyCache::new(), InvalidationEpoch::default());
        cache.subscribe(&epoch, at(0));
        cache.put(COUNTER, &state(500), when(100, 1_000), &epoch);
        let cached = cache.trusted(COUNTER, &epoch).unwrap();
        assert_eq!(cached.at_latest(at(1_050)), at(150), "if it was decided when it was sent");
        assert_eq!(cached.at_earliest(at(1_050)), at(140), "if it was decided when it came back");
    }

    #[test]
    fn states_of_one_server_do_not_hold_on_another() {
        let (cache, epoch, other) =
            (DenyCache::new(), InvalidationEpoch::default(), InvalidationEpoch::default());
        cache.subscribe(&epoch, at(0));
        cache.subscribe(&other, at(0));
        cache.put(COUNTER, &state(500), when(100, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), Some(state(500)));
        assert_eq!(trusted(&cache, &other), None, "a refund may have preceded the move");
        other.stop();
        assert_eq!(trusted(&cache, &epoch), Some(state(500)), "this subscription still holds");
    }

    #[test]
    fn states_from_before_the_subscription_only_seed_the_fallback() {
        let (cache, epoch) = (DenyCache::new(), InvalidationEpoch::default());
        cache.subscribe(&epoch, at(1_001));
        cache.put(COUNTER, &state(500), when(100, 1_000), &epoch);
        assert_eq!(trusted(&cache, &epoch), None);
        assert_eq!(cache.take(COUNTER), Some(state(500)));
    }
}
