//! The stored state of one counter.

mod codec;
mod error;
mod heap_size;
mod reader;
mod shift;

use std::collections::VecDeque;

pub use self::error::StateError;

use crate::exact_time::ExactTime;
use crate::receipt::ChargeId;
use crate::time::Time;

/// The state of one counter; the store indexes it by the limit's name and the key.
///
/// Its meaning depends on the limit that reads it. A state left behind by another algorithm is
/// read as "exhausted now", so that a changed rule never grants a second burst.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum State {
    /// Never used, or recovered since, which is equivalent.
    #[default]
    Vacant,
    /// A bucket or a queue.
    Bucket {
        /// The time at which it is full, or empty, again.
        full_at: ExactTime,
        /// The denominator of its fraction.
        parts: u64,
    },
    /// A calendar window and the units used in it.
    Window {
        /// The first time of the window.
        start: Time,
        /// The first time after it.
        end: Time,
        /// Units used in it.
        count: u64,
    },
    /// Counts per block of a sliding window.
    Blocks(Box<Blocks>),
    /// Every admission in the last window.
    Log(Vec<Stamp>),
    /// The holders of slots.
    Holders(Box<Holders>),
    /// Failures, and the block after them.
    Cooling(Box<Cooling>),
    /// A receipt that has been settled, stored until that no longer matters.
    Settled {
        /// The time from which it may be dropped.
        until: Time,
    },
}

impl State {
    /// Creates a bucket that is full at `full_at`, in whole microseconds.
    ///
    /// Most quotas have no fractions.
    #[inline]
    pub const fn whole_bucket(full_at: Time) -> Self {
        Self::Bucket { full_at: ExactTime::at(full_at), parts: 1 }
    }

    /// Returns when this bucket is full, if that is its complete state.
    ///
    /// `None` for a bucket that counts in fractions, for one full only after [`Time::MAX`], and
    /// for all other states.
    #[inline]
    pub fn as_whole_bucket(&self) -> Option<Time> {
        match *self {
            Self::Bucket { full_at: ExactTime { micros, parts: 0 }, parts: 1 }
                if micros <= Time::MAX.as_micros() =>
            {
                Some(Time::from_micros(micros))
            }
            _ => None,
        }
    }
}

/// Counts per block, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// The length of a block in microseconds.
    pub(crate) length: u64,
    /// The index of the newest block: its start divided by the length.
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

/// The holders of slots, ordered by the end of their leases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holders {
    pub(crate) list: VecDeque<Holder>,
    /// The units of all holders.
    pub(crate) units: u64,
}

/// One holder of concurrency slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) id: ChargeId,
    pub(crate) expires: Time,
    pub(crate) units: u64,
}

/// Recent failures, and the block after them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cooling {
    pub(crate) failures: Vec<Stamp>,
    pub(crate) blocked_until: Time,
    /// Blocks in a row.
    pub(crate) streak: u32,
    /// Admitted attempts that are not reported yet.
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
            State::Bucket { full_at: ExactTime { micros: 5, parts: 1 }, parts: 3 },
            State::Bucket { full_at: ExactTime::at(at), parts: 3 },
            State::whole_bucket(Time::computed(Time::MAX.as_micros() + 1)),
            State::Settled { until: at },
            State::Window { start: Time::EPOCH, end: at, count: 1 },
        ];
        for other in others {
            assert_eq!(other.as_whole_bucket(), None, "{other:?}");
        }
    }

    /// Stores keep millions of states, and every decision handles one.
    #[test]
    fn a_state_is_four_words() {
        assert_eq!(size_of::<State>(), 32);
    }
}
