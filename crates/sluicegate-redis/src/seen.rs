//! What was last seen of counters in the store.
//!
//! A take is admitted only while something is left, so a counter that was seen with nothing left stays as
//! it was seen until it has refilled: the store would refuse, with the wait that can be computed here.
//! Refunds, settlements, charges without asking and takes that wait for their turn change it all the same.
//! The script publishes those, and the state is forgotten. Without the store, the last state is the one to
//! begin with.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluicegate_core::{State, Time};

use crate::twin::Counter;

/// Places for counters, each for one of many: what is asked most is seen most. About 7 MB.
const PLACES: usize = 1 << 16;
/// Nobody tells us what is given back.
const DEAF: u64 = 0;

/// What was last seen of counters in the store.
#[derive(Debug)]
pub(crate) struct Seen {
    places: Box<[Mutex<Place>]>,
    hasher: RandomState,
    /// Counts how often we began to hear a server.
    begun: AtomicU64,
}

/// Whether we are told what is given back on one server: which time of hearing it is, of all
/// servers; [`DEAF`] while we do not.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    time: AtomicU64,
    /// When it began, by this machine: what was asked before may have been given back unheard.
    began: AtomicU64,
}

impl Hearing {
    /// We are not told any more.
    pub(crate) fn stop(&self) {
        self.time.store(DEAF, Ordering::SeqCst);
    }

    fn now(&self) -> u64 {
        self.time.load(Ordering::SeqCst)
    }
}

#[derive(Debug, Default)]
struct Place {
    sight: Option<Sight>,
    /// When a counter of this place was last forgotten: what had been asked before is not true.
    forgotten: Time,
}

/// One counter, and when it was seen.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    counter: Counter,
    pub(crate) state: State,
    /// The store's time then.
    now: Time,
    /// Between these two, by this machine.
    sent: Time,
    received: Time,
    hearing: u64,
}

/// When an answer was made: at a time of the store, somewhere between two of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct When {
    pub(crate) now: Time,
    pub(crate) sent: Time,
    pub(crate) received: Time,
}

impl Sight {
    /// The latest that it can be in the store: what is refused then is refused.
    pub(crate) fn at_latest(&self, machine: Time) -> Time {
        self.now + machine.since(self.sent)
    }

    /// The earliest that it can be in the store: who waits from then on has waited long enough.
    pub(crate) fn at_earliest(&self, machine: Time) -> Time {
        self.now + machine.since(self.received)
    }
}

impl Seen {
    pub(crate) fn new() -> Self {
        let places = (0..PLACES).map(|_| Mutex::default()).collect();
        Self { places, hasher: RandomState::new(), begun: AtomicU64::new(DEAF) }
    }

    /// From now on we are told what is given back. What was seen before may have been, unheard.
    pub(crate) fn begin(&self, hearing: &Hearing, machine: Time) {
        let begun = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        hearing.began.store(machine.as_micros(), Ordering::SeqCst);
        hearing.time.store(begun, Ordering::SeqCst);
    }

    /// What a counter of the server that we hear so may be refused by, without asking.
    pub(crate) fn trusted(&self, counter: Counter, hearing: &Hearing) -> Option<Sight> {
        let hearing = hearing.now();
        let place = self.place(counter);
        let sight = place.sight.as_ref()?;
        (sight.counter == counter && sight.hearing == hearing && hearing != DEAF)
            .then(|| sight.clone())
    }

    /// Takes out what was seen, however long ago.
    pub(crate) fn take(&self, counter: Counter) -> Option<State> {
        let mut place = self.place(counter);
        let sight = place.sight.take_if(|sight| sight.counter == counter)?;
        Some(sight.state)
    }

    /// A server answered with this state.
    pub(crate) fn put(&self, counter: Counter, state: &State, when: When, hearing: &Hearing) {
        let (hearing, began) = (hearing.now(), hearing.began.load(Ordering::SeqCst));
        let hearing = if when.sent.as_micros() < began { DEAF } else { hearing };
        let mut place = self.place(counter);
        // Of one server: another one's clock says nothing about which is newer.
        let newer = |sight: &Sight| {
            sight.counter == counter && sight.hearing == hearing && sight.now > when.now
        };
        if when.sent < place.forgotten || place.sight.as_ref().is_some_and(newer) {
            return;
        }
        let When { now, sent, received } = when;
        let state = state.clone();
        place.sight = Some(Sight { counter, state, now, sent, received, hearing });
    }

    /// Something was given back.
    pub(crate) fn forget(&self, counter: Counter, machine: Time) {
        let mut place = self.place(counter);
        place.sight.take_if(|sight| sight.counter == counter);
        place.forgotten = place.forgotten.max(machine);
    }

    fn place(&self, counter: Counter) -> MutexGuard<'_, Place> {
        let hash = self.hasher.hash_one(counter);
        let index = usize::try_from(hash % PLACES as u64).unwrap_or(0);
        self.places[index].lock().unwrap_or_else(PoisonError::into_inner)
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

    fn when(now: u64, sent: u64) -> When {
        When { now: at(now), sent: at(sent), received: at(sent + 10) }
    }

    fn trusted(seen: &Seen, hearing: &Hearing) -> Option<State> {
        seen.trusted(COUNTER, hearing).map(|sight| sight.state)
    }

    #[test]
    fn what_was_seen_counts_as_long_as_we_hear_what_is_given_back() {
        let (seen, hearing) = (Seen::new(), Hearing::default());
        seen.put(COUNTER, &state(500), when(100, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), None, "nobody would tell us");
        seen.begin(&hearing, at(0));
        assert_eq!(trusted(&seen, &hearing), None, "something may have been given back before");
        seen.put(COUNTER, &state(500), when(100, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), Some(state(500)));
        hearing.stop();
        assert_eq!(trusted(&seen, &hearing), None);
        assert_eq!(seen.take(COUNTER), Some(state(500)), "it is still what to begin with");
        assert_eq!(seen.take(COUNTER), None, "once");
    }

    #[test]
    fn an_answer_that_was_asked_for_before_something_was_given_back_comes_too_late() {
        let (seen, hearing) = (Seen::new(), Hearing::default());
        seen.begin(&hearing, at(0));
        seen.forget(COUNTER, at(1_005));
        seen.put(COUNTER, &state(500), when(100, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), None, "it was sent before");
        seen.put(COUNTER, &state(400), when(110, 1_005), &hearing);
        assert_eq!(trusted(&seen, &hearing), Some(state(400)));
        seen.forget(COUNTER, at(1_020));
        assert_eq!(trusted(&seen, &hearing), None);
    }

    #[test]
    fn an_older_answer_does_not_replace_a_newer_one() {
        let (seen, hearing) = (Seen::new(), Hearing::default());
        seen.begin(&hearing, at(0));
        seen.put(COUNTER, &state(600), when(200, 1_000), &hearing);
        seen.put(COUNTER, &state(500), when(199, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), Some(state(600)));
        seen.put(COUNTER, &state(700), when(200, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), Some(state(700)), "of one moment the last");
    }

    #[test]
    fn the_time_in_the_store_is_known_to_lie_between_two() {
        let (seen, hearing) = (Seen::new(), Hearing::default());
        seen.begin(&hearing, at(0));
        seen.put(COUNTER, &state(500), when(100, 1_000), &hearing);
        let sight = seen.trusted(COUNTER, &hearing).unwrap();
        assert_eq!(sight.at_latest(at(1_050)), at(150), "if it was decided when it was sent");
        assert_eq!(sight.at_earliest(at(1_050)), at(140), "if it was decided when it came back");
    }

    #[test]
    fn what_was_seen_on_one_server_does_not_count_on_another() {
        let (seen, hearing, other) = (Seen::new(), Hearing::default(), Hearing::default());
        seen.begin(&hearing, at(0));
        seen.begin(&other, at(0));
        seen.put(COUNTER, &state(500), when(100, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), Some(state(500)));
        assert_eq!(
            trusted(&seen, &other),
            None,
            "it may have been given back before it moved there"
        );
        other.stop();
        assert_eq!(trusted(&seen, &hearing), Some(state(500)), "this one is still heard");
    }

    #[test]
    fn what_was_asked_before_we_began_to_hear_is_only_what_to_begin_with() {
        let (seen, hearing) = (Seen::new(), Hearing::default());
        seen.begin(&hearing, at(1_001));
        seen.put(COUNTER, &state(500), when(100, 1_000), &hearing);
        assert_eq!(trusted(&seen, &hearing), None);
        assert_eq!(seen.take(COUNTER), Some(state(500)));
    }
}
