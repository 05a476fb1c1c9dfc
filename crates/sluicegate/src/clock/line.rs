//! A stretch of time told by ticks.

/// From the tick `start` on, for [`Line::LENGTH`] ticks, each tick lasts the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Line {
    /// The tick it starts at.
    pub(super) start: u64,
    /// The time then, in nanoseconds.
    pub(super) nanos: u64,
    /// How long a tick lasts, in 2^-32 ns; 0 if time is not told by ticks.
    pub(super) rate: u64,
}

impl Line {
    /// About 100 ms: 2^28 ticks are 134 ms at 2 GHz and 54 ms at 5 GHz.
    pub(super) const LENGTH: u64 = 1 << 28;
    /// From then on the next line is drawn, well before anybody needs it.
    pub(super) const FRESH: u64 = Self::LENGTH / 8 * 7;
    /// A tick of 8 ns. No processor has one as long, and products of ticks and rates fit 64 bits.
    pub(super) const SLOWEST: u64 = 8 << 32;
    /// A tick of 1/16 ns. No processor has one as short.
    pub(super) const FASTEST: u64 = 1 << 28;

    /// The tick after its last one.
    pub(super) const fn end(&self) -> u64 {
        self.start + Self::LENGTH
    }

    /// The time so many ticks after its start; the caller has seen to it that it is that long.
    #[inline]
    pub(super) const fn after(&self, ticks: u64) -> u64 {
        self.nanos + ((ticks * self.rate) >> 32)
    }

    /// The time at a tick. After its end a line stands still, and before its start.
    pub(super) fn at(&self, ticks: u64) -> u64 {
        self.after(ticks.saturating_sub(self.start).min(Self::LENGTH))
    }
}

/// How long so many ticks of a rate last, in nanoseconds.
pub(super) fn lasting(ticks: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(ticks) * u128::from(rate)) >> 32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_still_outside_of_itself() {
        let line = Line { start: 1_000, nanos: 7_000, rate: 1 << 31 };
        assert_eq!(
            [0, 1_000, 1_001, 1_002, 3_000].map(|t| line.at(t)),
            [7_000, 7_000, 7_000, 7_001, 8_000]
        );
        let last = 7_000 + Line::LENGTH / 2;
        assert_eq!([line.end(), line.end() + 1, u64::MAX].map(|t| line.at(t)), [last; 3]);
    }

    #[test]
    fn the_slowest_line_does_not_overflow() {
        let line = Line { start: 0, nanos: u64::MAX / 2, rate: Line::SLOWEST };
        assert_eq!(line.at(u64::MAX), u64::MAX / 2 + 8 * Line::LENGTH);
        assert_eq!(lasting(u64::MAX, Line::SLOWEST), u64::MAX);
        assert_eq!(lasting(5, 1 << 32), 5);
    }
}
