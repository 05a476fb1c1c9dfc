//! Receipts of charges.

mod codec;

use crate::exact_time::ExactTime;
use crate::time::{Span, Time};

/// The id of one request's set of checks, of its slots and its receipts.
///
/// Each set needs a new one: two sets with one id would share their slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChargeId {
    // Two halves, because the alignment of a u128 would pad every decision.
    high: u64,
    low: u64,
}

impl ChargeId {
    /// Creates an id from these bits.
    #[allow(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    pub const fn from_bits(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// Returns the bits of this id.
    pub const fn to_bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// Returns the id of the `index`-th check of the set with this id.
    #[must_use]
    pub const fn of_check(self, index: usize) -> Self {
        Self { high: self.high, low: self.low.wrapping_add(index as u64) }
    }
}

/// The receipt of a charge, for a refund, a settlement, a renewal or a release.
///
/// It belongs to the limit and key that were charged but does not contain them: store it together
/// with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) id: ChargeId,
    pub(crate) units: u64,
    pub(crate) at: Time,
    pub(crate) until: ExactTime,
    /// The denominator of the fraction in `until`.
    pub(crate) until_parts: u64,
}

impl Receipt {
    /// Returns the id of the charge, under which a settlement is stored.
    pub const fn id(&self) -> ChargeId {
        self.id
    }

    /// Returns the units charged.
    pub const fn units(&self) -> u64 {
        self.units
    }

    /// Returns the store's time of the charge.
    pub const fn at(&self) -> Time {
        self.at
    }

    /// Creates a receipt for zero units, which lapses at `until`.
    ///
    /// Settling it charges the units, and only once however often it is settled: for units that
    /// were used where the store could not see it, and have recovered by then.
    pub const fn for_nothing(id: ChargeId, until: Time) -> Self {
        // As if it had been charged that much earlier, so that it lapses at `until`.
        let at = until.as_micros().saturating_sub(Self::SETTLED_WITHIN.as_micros());
        let at = Time::from_micros(at);
        Self { id, units: 0, at, until: ExactTime::at(until), until_parts: 1 }
    }

    /// Returns when nothing is left to refund.
    pub const fn until(&self) -> Time {
        self.until.ceil()
    }

    /// Returns the exact time at which nothing is left to refund, with its denominator.
    pub const fn exact_end(&self) -> (ExactTime, u64) {
        (self.until, self.until_parts)
    }

    /// Returns when the charge can no longer be settled.
    ///
    /// Long after [`until`](Receipt::until) for a limit that recovers quickly: units used beyond
    /// the charge are still owed then. A settlement is stored up to here, so that it counts once.
    pub fn lapses(&self) -> Time {
        self.until().max(self.at + Self::SETTLED_WITHIN)
    }

    /// The time within which every charge can be settled: ten minutes.
    pub const SETTLED_WITHIN: Span = Span::from_secs(600);
}
