//! A counter in 64 bits.
//!
//! ```text
//!  63    62 61   60 58        57 55  54 48   47                        0
//! locked  kind  generation    tag    class   payload
//! ```
//!
//! *Payload*: of a bucket or a queue, the microsecond it will be full again, counted from the
//! store's epoch (nine years fit; 0 is a vacant counter); of a settled receipt, when it may be
//! forgotten; of anything wider, the number of its record.
//! *Class* and *tag* tell roughly which limit this is, for choosing what to forget: how long it
//! takes to recover, to half an octave, and three bits of its name.
//! The *generation* changes whenever the cell changes hands, so that a compare-and-swap
//! prepared for one key can not succeed on another that happens to stand at the same moment; and
//! whenever a counter goes back, so that what is seen twice has been so all the time in between.

use sluicegate_core::{Limit, Span, State, Time};

const LOCKED: u64 = 1 << 63;
const KIND: u64 = 0b11 << 61;
const BUCKET: u64 = 0;
const RECORD: u64 = 1 << 61;
const SETTLED: u64 = 2 << 61;
const MOVED: u64 = 3 << 61;
const GENERATION: u64 = 0b111 << 58;
const ONE_GENERATION: u64 = 1 << 58;
const MARK_SHIFT: u32 = 48;
const MARK: u64 = 0x3FF << MARK_SHIFT;
const PAYLOAD: u64 = (1 << MARK_SHIFT) - 1;

/// The state of one counter, or where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

/// Which limit a counter belongs to, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u64);

/// Moments of a store's words are told from here on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch(Time);

impl Epoch {
    pub(super) fn new(time: Time) -> Self {
        Self(time)
    }

    pub(super) fn time(self) -> Time {
        self.0
    }

    /// A moment as a payload; `None` if it does not fit one.
    #[inline]
    pub(super) fn tell(self, time: Time) -> Option<u64> {
        let after = time.as_micros().checked_sub(self.0.as_micros())?;
        (after != 0 && after <= PAYLOAD).then_some(after)
    }

    /// The payload of the last moment that is not after `now`.
    pub(super) fn reached(self, now: Time) -> u64 {
        now.as_micros().saturating_sub(self.0.as_micros()).min(PAYLOAD)
    }

    #[inline]
    fn read(self, payload: u64) -> Time {
        Time::from_micros(self.0.as_micros() + payload)
    }
}

impl Mark {
    pub(super) const BITS: u64 = MARK >> MARK_SHIFT;

    /// The mark of a limit.
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

/// Twice the logarithm of a span, rounded down.
fn class_of(span: Span) -> u64 {
    let micros = span.as_micros().clamp(2, 1 << 52);
    let octave = u64::from(micros.ilog2());
    octave * 2 + (micros >> (octave - 1) & 1)
}

impl Word {
    /// A cell that nobody has had yet.
    pub(super) const EMPTY: Self = Self(0);
    /// What a page that is being divided leaves in its cells.
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

    /// Whether the page this cell is in is being divided.
    pub(super) const fn is_moved(self) -> bool {
        self.0 & (LOCKED | KIND) == LOCKED | MOVED
    }

    /// Whether the state is in this word, and nobody has locked it.
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

    /// The same cell, its counter forgotten.
    pub(super) const fn vacated(self) -> Self {
        Self(self.aged().0 & (GENERATION | MARK))
    }

    /// The same in the next generation, which is the first again after the last.
    const fn aged(self) -> Self {
        Self(self.0 & !GENERATION | self.0.wrapping_add(ONE_GENERATION) & GENERATION)
    }

    /// The number of the record that has the state.
    pub(super) fn record(self) -> Option<u32> {
        let there = self.0 & KIND == RECORD;
        there.then(|| u32::try_from(self.0 & PAYLOAD).unwrap_or(u32::MAX))
    }

    pub(super) const fn mark(self) -> Mark {
        Mark((self.0 & MARK) >> MARK_SHIFT)
    }

    /// The state, unless it is in a record.
    #[inline]
    pub(super) fn state(self, epoch: Epoch) -> State {
        match (self.0 & KIND, self.0 & PAYLOAD) {
            (BUCKET, 0) => State::Vacant,
            (BUCKET, payload) => State::whole_bucket(epoch.read(payload)),
            (SETTLED, payload) => State::Settled { until: epoch.read(payload) },
            _ => State::Vacant,
        }
    }

    /// When the bucket in this word will be full again, long ago if it is; `None` if the word
    /// is locked or has anything else.
    #[inline]
    pub(super) fn full_at(self, epoch: Epoch) -> Option<Time> {
        match (self.0 & (LOCKED | KIND), self.0 & PAYLOAD) {
            (BUCKET, 0) => Some(Time::EPOCH),
            (BUCKET, payload) => Some(epoch.read(payload)),
            _ => None,
        }
    }

    /// The same cell with a bucket that will be full again at another time; `None` if that time
    /// does not fit.
    #[inline]
    pub(super) fn with_full_at(self, full_at: Time, epoch: Epoch) -> Option<Self> {
        let after = full_at.as_micros().wrapping_sub(epoch.0.as_micros());
        (after <= PAYLOAD).then_some(Self(self.0 & (GENERATION | MARK) | after))
    }

    /// The same cell with another state; `None` if that needs a record.
    #[inline]
    pub(super) fn with_state(self, state: &State, epoch: Epoch) -> Option<Self> {
        let filed = if let Some(full_at) = state.as_whole_bucket() {
            BUCKET | epoch.tell(full_at)?
        } else {
            match state {
                State::Vacant => BUCKET,
                State::Settled { until } => SETTLED | epoch.tell(*until)?,
                _ => return None,
            }
        };
        let goes_back = filed < self.0 & (KIND | PAYLOAD);
        let word = if goes_back { self.aged() } else { self };
        Some(Self(word.0 & (GENERATION | MARK) | filed))
    }

    /// The same cell with its state in a record.
    pub(super) fn with_record(self, record: u32) -> Self {
        Self(self.0 & (GENERATION | MARK) | RECORD | u64::from(record))
    }

    /// What the cell that has held `self` holds when it changes hands and gets `next`.
    pub(super) fn handed_over(self, next: Self) -> Self {
        Self(next.0 & !(GENERATION | LOCKED) | self.aged().0 & GENERATION)
    }

    /// What is left in a cell whose counter has gone elsewhere.
    pub(super) fn moved_out(self) -> Self {
        Self(self.0 & GENERATION)
    }

    pub(super) fn marked(self, mark: Mark) -> Self {
        Self(self.0 & !MARK | mark.0 << MARK_SHIFT)
    }

    /// The word as a snapshot keeps it.
    pub(super) fn bare(self) -> Self {
        Self(self.0 & !(LOCKED | GENERATION))
    }

    /// The share of its capacity that a counter has used at the payload `now`; 0 is as good
    /// as none. `None` if its record has to be asked.
    pub(super) fn share_used(self, now: u64) -> Option<u16> {
        let (kind, payload) = (self.0 & KIND, self.0 & PAYLOAD);
        match kind {
            RECORD => None,
            _ if payload == 0 => Some(0),
            _ if payload <= now => Some(0),
            // Forgetting it lets one settlement count twice, which resets nobody.
            SETTLED => Some(u16::MAX / 2),
            _ => Some(self.share_until(payload - now)),
        }
    }

    fn share_until(self, used: u64) -> u16 {
        let class = (self.0 & MARK) >> MARK_SHIFT & 0x7F;
        let full = (2 | class & 1) << (class / 2) >> 1;
        // Numbers of a size that the product stays within bounds.
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
    fn what_fits_comes_back_and_what_does_not_is_refused() {
        let word = Word::EMPTY.marked(Mark(0x2A5));
        for micros in [1, 2, 1_000_000, PAYLOAD - 1, PAYLOAD] {
            let states =
                [State::whole_bucket(after(micros)), State::Settled { until: after(micros) }];
            for state in states {
                let filed = word.with_state(&state, EPOCH).unwrap();
                assert_eq!(filed.state(EPOCH), state);
                assert_eq!((filed.mark(), filed.is_ready()), (Mark(0x2A5), true));
            }
            let filed = word.with_full_at(after(micros), EPOCH).unwrap();
            assert_eq!(filed.full_at(EPOCH), Some(after(micros)));
        }
        assert_eq!(word.with_state(&State::Vacant, EPOCH).unwrap().state(EPOCH), State::Vacant);
        // Before the epoch, at it, and beyond what the payload tells.
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
            let next = last.handed_over(word);
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
                let word = Word::EMPTY.marked(Mark::of(&limit));
                word.with_full_at(after(1 + micros), EPOCH).unwrap().share_used(1).unwrap()
            };
            assert_eq!(share(0), 0, "recovered");
            assert!(share(1) >= 1, "anything is more than nothing");
            assert_eq!(share(full), u16::MAX, "{quota}: all of it");
            // To half an octave, never less than it is.
            let fifth = u64::from(share(full / 5));
            assert!((13_000..=20_000).contains(&fifth), "{quota}: {fifth} of 65535");
        }
    }
}
