//! What a store keeps for one counter.

mod bytes;
mod codec;
mod earlier;
mod error;
mod heap;

use std::collections::VecDeque;

pub use self::error::StateError;

use crate::ask::Id;
use crate::moment::Moment;
use crate::time::Time;

/// The state of one counter; the store files it under the limit's name and the key.
///
/// Which limit reads it decides what it means. A state that another algorithm left
/// behind is read as "exhausted now": a changed rule hands nobody a second burst.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum State {
    /// Never asked, or recovered since: the same thing.
    #[default]
    Vacant,
    /// A bucket or a queue: the moment it will be full, or empty, again.
    Bucket {
        /// That moment.
        full_at: Moment,
        /// The denominator of its fraction.
        parts: u64,
    },
    /// A calendar window and what was used of it.
    Window {
        /// The first moment of the window.
        start: Time,
        /// The first moment after it.
        end: Time,
        /// Units used in it.
        count: u64,
    },
    /// Counts per block of a sliding window.
    Blocks(Box<Blocks>),
    /// Every admission of the last window.
    Log(Vec<Stamp>),
    /// Who holds slots.
    Holders(Box<Holders>),
    /// Failures, and the block they led to.
    Cooling(Box<Cooling>),
    /// A receipt that has been settled, remembered until that no longer matters.
    Settled {
        /// When it may be forgotten.
        until: Time,
    },
}

impl State {
    /// A bucket that will be full at `full_at`, counted in whole microseconds as it is for most
    /// quotas.
    #[inline]
    pub const fn whole_bucket(full_at: Time) -> Self {
        Self::Bucket { full_at: Moment::at(full_at), parts: 1 }
    }

    /// When this bucket will be full, if that is all there is to know of it: `None` for a bucket
    /// that counts in fractions, for one full only after [`Time::MAX`], and for all other states.
    #[inline]
    pub fn as_whole_bucket(&self) -> Option<Time> {
        match *self {
            Self::Bucket { full_at: Moment { micros, parts: 0 }, parts: 1 }
                if micros <= Time::MAX.as_micros() =>
            {
                Some(Time::from_micros(micros))
            }
            _ => None,
        }
    }
}

/// Counts per block, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// Length of a block in microseconds.
    pub(crate) length: u64,
    /// Index of the newest block: its start divided by the length.
    pub(crate) newest: u64,
    /// Units per block, from the newest to the oldest that can still matter.
    pub(crate) counts: Box<[u64]>,
}

/// Units charged at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) at: Time,
    pub(crate) units: u64,
}

/// Who holds slots, whose lease runs out first coming first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holders {
    pub(crate) list: VecDeque<Holder>,
    /// Units of all in the list.
    pub(crate) units: u64,
}

/// One holder of concurrency slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) id: Id,
    pub(crate) expires: Time,
    pub(crate) units: u64,
}

/// Failures of late, and the block they led to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cooling {
    pub(crate) failures: Vec<Stamp>,
    pub(crate) blocked_until: Time,
    /// Blocks in a row.
    pub(crate) streak: u32,
    /// Attempts that were admitted and not reported yet.
    pub(crate) attempts: Vec<Stamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bucket_of_whole_microseconds_is_whole() {
        let at = Time::from_micros(1_767_225_600_000_000);
        for time in [Time::EPOCH, at, Time::MAX] {
            assert_eq!(State::whole_bucket(time).as_whole_bucket(), Some(time));
        }
        let others = [
            State::Vacant,
            State::Bucket { full_at: Moment { micros: 5, parts: 1 }, parts: 3 },
            State::Bucket { full_at: Moment::at(at), parts: 3 },
            State::whole_bucket(Time::computed(Time::MAX.as_micros() + 1)),
            State::Settled { until: at },
            State::Window { start: Time::EPOCH, end: at, count: 1 },
        ];
        for other in others {
            assert_eq!(other.as_whole_bucket(), None, "{other:?}");
        }
    }

    /// Stores keep millions of them, and every decision passes one through.
    #[test]
    fn a_state_is_four_words() {
        assert_eq!(size_of::<State>(), 32);
    }
}
