//! The state of a counter in 64 bits.
//!
//! ```text
//!  63    62 61   60 58        57 55  54 48   47                        0
//! locked  kind  generation    tag    class   payload
//! ```
//!
//! *Payload*: of a bucket or a queue, the microsecond it will be full again, counted from the
//! store's epoch (nine years fit; 0 is a vacant counter); of a settled receipt, the time from
//! which it may be dropped; of any larger state, the number of its record. *Class* and *tag*
//! identify the limit approximately, for evictions: its recovery time, to half an octave, and
//! three bits of its name. The *generation* changes whenever the cell is reused, so that a
//! compare-and-swap prepared for one key cannot succeed on another with the same time; and
//! whenever a counter goes back in time, so that a word seen twice did not change in between.

use sluicegate_core::{Limit, Span, State, Time};

const LOCKED: u64 = 1 << 63;
const KIND: u64 = 0b11 << 61;
const BUCKET: u64 = 0;
const RECORD: u64 = 1 << 61;
const SETTLED: u64 = 2 << 61;
const MOVED: u64 = 3 << 61;
const GENERATION: u64 = 0b111 << 58;
const ONE_GENERATION: u64 = 1 << 58;
const LIMIT_TAG_SHIFT: u32 = 48;
const LIMIT_TAG: u64 = 0x3FF << LIMIT_TAG_SHIFT;
const PAYLOAD: u64 = (1 << LIMIT_TAG_SHIFT) - 1;

/// The state of one counter, or a reference to its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

/// The approximate identity of a counter's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitTag(u64);

/// The origin of the times in a store's words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch(Time);

impl Epoch {
    pub(super) fn new(time: Time) -> Self {
        Self(time)
    }

    pub(super) fn time(self) -> Time {
        self.0
    }

    /// Returns a time as a payload; `None` if it does not fit.
    #[inline]
    pub(super) fn payload_of(self, time: Time) -> Option<u64> {
        let after = time.as_micros().checked_sub(self.0.as_micros())?;
        (after != 0 && after <= PAYLOAD).then_some(after)
    }

    /// Returns the payload of the last time that is not after `now`.
    pub(super) fn reached(self, now: Time) -> u64 {
        now.as_micros().saturating_sub(self.0.as_micros()).min(PAYLOAD)
    }

    #[inline]
    fn read(self, payload: u64) -> Time {
        Time::from_micros(self.0.as_micros() + payload)
    }
}

impl LimitTag {
    pub(super) const BITS: u64 = LIMIT_TAG >> LIMIT_TAG_SHIFT;

    /// Returns the tag of a limit.
    pub(super) fn of(limit: &Limit) -> Self {
        let class = class_of(limit.recovery().unwrap_or(Span::from_micros(u64::MAX)));
        Self((limit.name_digest() & 0b111) << 7 | class)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits & Self::BITS)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

/// Returns twice the binary logarithm of a span, rounded down.
fn class_of(span: Span) -> u64 {
    let micros = span.as_micros().clamp(2, 1 << 52);
    let octave = u64::from(micros.ilog2());
    octave * 2 + (micros >> (octave - 1) & 1)
}

impl Word {
    /// A cell that was never used.
    pub(super) const EMPTY: Self = Self(0);
    /// The content of the cells of a page that is being split.
    pub(super) const MOVED: Self = Self(LOCKED | MOVED);

    pub(super) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(super) const fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    #[inline]
    pub(super) const fn locked(self) -> Self {
        Self(self.0 | LOCKED)
    }

    /// Returns whether the page of this cell is being split.
    pub(super) const fn is_moved(self) -> bool {
        self.0 & (LOCKED | KIND) == LOCKED | MOVED
    }

    /// Returns whether the state is in this word and the word is not locked.
    #[inline]
    pub(super) const fn is_ready(self) -> bool {
        self.0 & (LOCKED | RECORD) == 0
    }

    #[inline]
    pub(super) const fn unlocked(self) -> Self {
        Self(self.0 & !LOCKED)
    }

    pub(super) const fn is_vacant(self) -> bool {
        self.0 & (KIND | PAYLOAD) == BUCKET
    }

    /// Returns the word without its counter, for an eviction.
    pub(super) const fn vacated(self) -> Self {
        Self(self.next_generation().0 & (GENERATION | LIMIT_TAG))
    }

    /// Returns the word in the next generation, which wraps around.
    const fn next_generation(self) -> Self {
        Self(self.0 & !GENERATION | self.0.wrapping_add(ONE_GENERATION) & GENERATION)
    }

    /// Returns the number of the record with the state.
    pub(super) fn record(self) -> Option<u32> {
        let there = self.0 & KIND == RECORD;
        there.then(|| u32::try_from(self.0 & PAYLOAD).unwrap_or(u32::MAX))
    }

    pub(super) const fn limit_tag(self) -> LimitTag {
        LimitTag((self.0 & LIMIT_TAG) >> LIMIT_TAG_SHIFT)
    }

    /// Returns the state, unless it is in a record.
    #[inline]
    pub(super) fn state(self, epoch: Epoch) -> State {
        match (self.0 & KIND, self.0 & PAYLOAD) {
            (BUCKET, 0) => State::Vacant,
            (BUCKET, payload) => State::whole_bucket(epoch.read(payload)),
            (SETTLED, payload) => State::Settled { until: epoch.read(payload) },
            _ => State::Vacant,
        }
    }

    /// Returns when the bucket in this word will be full again, possibly in the past.
    ///
    /// `None` if the word is locked or has another kind.
    #[inline]
    pub(super) fn full_at(self, epoch: Epoch) -> Option<Time> {
        match (self.0 & (LOCKED | KIND), self.0 & PAYLOAD) {
            (BUCKET, 0) => Some(Time::EPOCH),
            (BUCKET, payload) => Some(epoch.read(payload)),
            _ => None,
        }
    }

    /// Returns the word with another time at which the bucket will be full again.
    ///
    /// `None` if that time does not fit.
    #[inline]
    pub(super) fn with_full_at(self, full_at: Time, epoch: Epoch) -> Option<Self> {
        let after = full_at.as_micros().wrapping_sub(epoch.0.as_micros());
        (after <= PAYLOAD).then_some(Self(self.0 & (GENERATION | LIMIT_TAG) | after))
    }

    /// Returns the word with another state; `None` if that needs a record.
    #[inline]
    pub(super) fn with_state(self, state: &State, epoch: Epoch) -> Option<Self> {
        let filed = if let Some(full_at) = state.as_whole_bucket() {
            BUCKET | epoch.payload_of(full_at)?
        } else {
            match state {
                State::Vacant => BUCKET,
                State::Settled { until } => SETTLED | epoch.payload_of(*until)?,
                _ => return None,
            }
        };
        let goes_back = filed < self.0 & (KIND | PAYLOAD);
        let word = if goes_back { self.next_generation() } else { self };
        Some(Self(word.0 & (GENERATION | LIMIT_TAG) | filed))
    }

    /// Returns the word with its state in a record.
    pub(super) fn with_record(self, record: u32) -> Self {
        Self(self.0 & (GENERATION | LIMIT_TAG) | RECORD | u64::from(record))
    }

    /// Returns the word of a cell that had `self` and is reused for `next`.
    pub(super) fn reused_for(self, next: Self) -> Self {
        Self(next.0 & !(GENERATION | LOCKED) | self.next_generation().0 & GENERATION)
    }

    /// Returns the word of a cell whose counter has moved elsewhere.
    pub(super) fn emptied(self) -> Self {
        Self(self.0 & GENERATION)
    }

    pub(super) fn with_limit_tag(self, limit_tag: LimitTag) -> Self {
        Self(self.0 & !LIMIT_TAG | limit_tag.0 << LIMIT_TAG_SHIFT)
    }

    /// Returns the word as stored in a snapshot.
    pub(super) fn for_snapshot(self) -> Self {
        Self(self.0 & !(LOCKED | GENERATION))
    }

    /// Returns the used share of the capacity at the payload `now`; 0 is equivalent to none.
    ///
    /// `None` if it is in the record.
    pub(super) fn share_used(self, now: u64) -> Option<u16> {
        let (kind, payload) = (self.0 & KIND, self.0 & PAYLOAD);
        match kind {
            RECORD => None,
            _ if payload == 0 => Some(0),
            _ if payload <= now => Some(0),
            // Evicting it allows one settlement to count twice, which resets no caller.
            SETTLED => Some(u16::MAX / 2),
            _ => Some(self.share_until(payload - now)),
        }
    }

    fn share_until(self, used: u64) -> u16 {
        let class = (self.0 & LIMIT_TAG) >> LIMIT_TAG_SHIFT & 0x7F;
        let full = (2 | class & 1) << (class / 2) >> 1;
        // Shifted so that the product does not overflow.
        let shift = (class / 2).saturating_sub(20);
        let share = (used >> shift).saturating_mul(u64::from(u16::MAX)) / (full >> shift).max(1);
        u16::try_from(share.max(1)).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: Epoch = Epoch(Time::from_micros(1_767_225_600_000_000));

    fn after(micros: u64) -> Time {
        Time::from_micros(EPOCH.0.as_micros() + micros)
    }

    #[test]
    fn fitting_states_round_trip_and_others_are_rejected() {
        let word = Word::EMPTY.with_limit_tag(LimitTag(0x2A5));
        for micros in [1, 2, 1_000_000, PAYLOAD - 1, PAYLOAD] {
            let states =
                [State::whole_bucket(after(micros)), State::Settled { until: after(micros) }];
            for state in states {
                let filed = word.with_state(&state, EPOCH).unwrap();
                assert_eq!(filed.state(EPOCH), state);
                assert_eq!((filed.limit_tag(), filed.is_ready()), (LimitTag(0x2A5), true));
            }
            let filed = word.with_full_at(after(micros), EPOCH).unwrap();
            assert_eq!(filed.full_at(EPOCH), Some(after(micros)));
        }
        assert_eq!(word.with_state(&State::Vacant, EPOCH).unwrap().state(EPOCH), State::Vacant);
        // Before the epoch, at it, and beyond the largest payload.
        for time in [Time::EPOCH, after(0), after(PAYLOAD + 1), Time::MAX] {
            assert_eq!(word.with_state(&State::whole_bucket(time), EPOCH), None, "{time:?}");
        }
        assert_eq!(word.with_state(&State::Log(Vec::new()), EPOCH), None);
    }

    #[test]
    fn a_word_for_another_key_is_another_word() {
        let word = Word::EMPTY.with_full_at(after(60), EPOCH).unwrap();
        let mut last = word;
        for _ in 0..7 {
            let next = last.reused_for(word);
            assert_ne!(next, last, "the same moment, and yet another");
            assert_eq!(next.full_at(EPOCH), word.full_at(EPOCH));
            last = next;
        }
    }

    #[test]
    fn the_share_used_does_not_depend_on_the_period() {
        for quota in ["5/s", "5/min", "5/h", "5/day", "1/day burst 5"] {
            let limit = Limit::token_bucket("limit", quota.parse().unwrap()).unwrap();
            let full = limit.recovery().unwrap().as_micros();
            let share = |micros: u64| {
                let word = Word::EMPTY.with_limit_tag(LimitTag::of(&limit));
                word.with_full_at(after(1 + micros), EPOCH).unwrap().share_used(1).unwrap()
            };
            assert_eq!(share(0), 0, "recovered");
            assert!(share(1) >= 1, "anything is more than nothing");
            assert_eq!(share(full), u16::MAX, "{quota}: all of it");
            // Exact to half an octave, never less than the used share.
            let fifth = u64::from(share(full / 5));
            assert!((13_000..=20_000).contains(&fifth), "{quota}: {fifth} of 65535");
        }
    }
}
