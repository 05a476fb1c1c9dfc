//! A linear mapping from ticks to nanoseconds.

/// A constant rate from the tick `start` on, for [`Segment::LENGTH`] ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Segment {
    /// The first tick.
    pub(super) start: u64,
    /// The time at the first tick, in nanoseconds.
    pub(super) nanos: u64,
    /// The length of a tick in 2^-32 ns; 0 if the operating system's clock is used instead.
    pub(super) rate: u64,
}

impl Segment {
    /// About 100 ms: 2^28 ticks are 134 ms at 2 GHz and 54 ms at 5 GHz.
    pub(super) const LENGTH: u64 = 1 << 28;
    /// From this offset on the next segment is computed, well before it is needed.
    pub(super) const FRESH: u64 = Self::LENGTH / 8 * 7;
    /// A tick of 8 ns. No processor has one as long, and products of ticks and rates fit 64 bits.
    pub(super) const SLOWEST: u64 = 8 << 32;
    /// A tick of 1/16 ns. No processor has one as short.
    pub(super) const FASTEST: u64 = 1 << 28;

    /// Returns the tick after the last one.
    pub(super) const fn end(&self) -> u64 {
        self.start + Self::LENGTH
    }

    /// Returns the time `ticks` after the start; the caller guarantees that they are in range.
    #[inline]
    pub(super) const fn after(&self, ticks: u64) -> u64 {
        self.nanos + ((ticks * self.rate) >> 32)
    }

    /// Returns the time at a tick, clamped to the segment.
    pub(super) fn at(&self, ticks: u64) -> u64 {
        self.after(ticks.saturating_sub(self.start).min(Self::LENGTH))
    }
}

/// Returns the length of `ticks` at a rate, in nanoseconds.
pub(super) fn lasting(ticks: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(ticks) * u128::from(rate)) >> 32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_constant_outside_of_its_range() {
        let segment = Segment { start: 1_000, nanos: 7_000, rate: 1 << 31 };
        assert_eq!(
            [0, 1_000, 1_001, 1_002, 3_000].map(|t| segment.at(t)),
            [7_000, 7_000, 7_000, 7_001, 8_000]
        );
        let last = 7_000 + Segment::LENGTH / 2;
        assert_eq!([segment.end(), segment.end() + 1, u64::MAX].map(|t| segment.at(t)), [last; 3]);
    }

    #[test]
    fn the_slowest_segment_does_not_overflow() {
        let segment = Segment { start: 0, nanos: u64::MAX / 2, rate: Segment::SLOWEST };
        assert_eq!(segment.at(u64::MAX), u64::MAX / 2 + 8 * Segment::LENGTH);
        assert_eq!(lasting(u64::MAX, Segment::SLOWEST), u64::MAX);
        assert_eq!(lasting(5, 1 << 32), 5);
    }
}
