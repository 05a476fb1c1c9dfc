//! Time finer than a microsecond, in mixed radix: whole microseconds and a fraction.
//!
//! One unit of `amount` per `period` lasts `period / amount` microseconds, rarely a whole number.
//! Reduced by their greatest common divisor to `unit_parts / parts`, every multiple of it is a
//! number of microseconds plus a number of `1/parts` of one: two whole numbers, no rounding. For
//! `7/3s` a unit lasts 3 000 000 / 7 us, that is
//!
//! | units | micros | parts (of 7) |
//! |---|---|---|
//! | 1 | 428 571 | 3 |
//! | 2 | 857 142 | 6 |
//! | 3 | 1 285 714 | 2 |
//! | 6 | 2 571 428 | 4 |
//! | 7 | 3 000 000 | 0 |

#![allow(
    clippy::inline_always,
    reason = "what every request passes through; see docs/benchmarks.md"
)]

use crate::time::{Span, Time};

/// A point in time or a length of time: `micros + parts / parts_per_micro` microseconds.
///
/// The denominator belongs to the quota it was computed for; `parts` is always below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ExactTime {
    pub(crate) micros: u64,
    pub(crate) parts: u64,
}

impl ExactTime {
    /// Creates a time exactly on a microsecond.
    pub const fn at(time: Time) -> Self {
        Self { micros: time.as_micros(), parts: 0 }
    }

    /// Returns the whole microseconds.
    pub const fn micros(self) -> u64 {
        self.micros
    }

    /// Returns the fraction, in the parts of the quota it was computed for.
    pub const fn parts(self) -> u64 {
        self.parts
    }

    pub(crate) const fn lasting(span: Span) -> Self {
        Self { micros: span.as_micros(), parts: 0 }
    }

    /// Returns the first whole microsecond that is not before this time.
    pub const fn ceil(self) -> Time {
        Time::computed(self.micros + (self.parts > 0) as u64)
    }

    /// Returns whether two times with different denominators are equal.
    pub(crate) fn is_same(self, counted_in: u64, other: Self, other_counted_in: u64) -> bool {
        self.micros == other.micros
            && u128::from(self.parts) * u128::from(other_counted_in)
                == u128::from(other.parts) * u128::from(counted_in)
    }

    /// Returns this length of time, rounded up to whole microseconds.
    pub(crate) const fn ceil_span(self) -> Span {
        Span::from_micros(self.micros + (self.parts > 0) as u64)
    }
}

/// The emission interval of a quota: the exact time per unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EmissionInterval {
    /// The parts per microsecond.
    parts: u64,
    /// One unit lasts `unit_parts / parts` microseconds …
    unit_parts: u64,
    /// … which is these whole microseconds and these parts.
    unit: ExactTime,
}

impl EmissionInterval {
    /// Creates the interval of `amount` units per `period`; neither is zero.
    pub(crate) const fn new(amount: u64, period: Span) -> Self {
        let divisor = gcd(amount, period.as_micros());
        let parts = amount / divisor;
        let unit_parts = period.as_micros() / divisor;
        let unit = ExactTime { micros: unit_parts / parts, parts: unit_parts % parts };
        Self { parts, unit_parts, unit }
    }

    /// Returns the interval times `times`, or `None` if that is out of range.
    pub(crate) fn slower(&self, times: u32) -> Option<Self> {
        let period = self.unit_parts.checked_mul(times.into())?;
        (period <= Time::MAX.as_micros()).then(|| Self::new(self.parts, Span::from_micros(period)))
    }

    /// Returns the denominator of the fractions of this interval.
    pub(crate) const fn parts(&self) -> u64 {
        self.parts
    }

    /// Returns how many of its parts one unit lasts.
    pub(crate) const fn unit_parts(&self) -> u64 {
        self.unit_parts
    }

    /// Returns whether a unit lasts whole microseconds, so that fractions are always 0.
    ///
    /// This is the case for most quotas. The arithmetic below is written once and compiled twice:
    /// with `FRACTIONS` off, every part is known to be 0 and the code for parts is removed.
    #[inline(always)]
    pub(crate) const fn is_whole(&self) -> bool {
        self.parts == 1
    }

    /// Returns how long `units` last.
    #[inline(always)]
    pub(crate) const fn lasting<const FRACTIONS: bool>(&self, units: u64) -> ExactTime {
        if units == 1 {
            return self.unit;
        }
        let micros = match units.checked_mul(self.unit.micros) {
            Some(micros) if micros <= Time::MAX.as_micros() => micros,
            _ => return self.lasting_wide(units),
        };
        if !FRACTIONS {
            return ExactTime { micros, parts: 0 };
        }
        match units.checked_mul(self.unit.parts) {
            Some(parts) if parts < self.parts => ExactTime { micros, parts },
            Some(parts) => {
                ExactTime { micros: micros + parts / self.parts, parts: parts % self.parts }
            }
            None => self.lasting_wide(units),
        }
    }

    /// The same for a receipt with many units, applied to a quota that has since become slow.
    #[allow(clippy::cast_possible_truncation, reason = "both are bounded just before")]
    #[cold]
    const fn lasting_wide(&self, units: u64) -> ExactTime {
        let total = units as u128 * self.unit_parts as u128;
        let micros = total / self.parts as u128;
        let longest = Time::MAX.as_micros() as u128;
        let micros = if micros > longest { longest } else { micros };
        ExactTime { micros: micros as u64, parts: (total % self.parts as u128) as u64 }
    }

    /// Returns how many whole units last no longer than `length`.
    #[inline(always)]
    pub(crate) fn units_in<const FRACTIONS: bool>(&self, length: ExactTime) -> u64 {
        if !FRACTIONS {
            return length.micros / self.unit_parts;
        }
        // The product almost always fits 64 bits; where it does not, the answer still does.
        match length.micros.checked_mul(self.parts) {
            Some(parts) if parts <= u64::MAX - length.parts => {
                (parts + length.parts) / self.unit_parts
            }
            _ => {
                let parts = self.parts_in(length);
                u64::try_from(parts / u128::from(self.unit_parts)).unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns how many whole units last at least as long as `length`.
    ///
    /// An implementation that has only doubles divides, and corrects the quotient by the length of
    /// that many units: up to two capacities that stays below 2^53, and the quotient is a few
    /// units off.
    pub(crate) fn units_covering(&self, length: ExactTime) -> u64 {
        let units = self.units_in::<true>(length);
        units + u64::from(self.lasting::<true>(units) < length)
    }

    /// Returns a length of time in parts of a microsecond.
    pub(crate) fn parts_in(&self, length: ExactTime) -> u128 {
        u128::from(length.micros) * u128::from(self.parts) + u128::from(length.parts)
    }

    #[inline(always)]
    pub(crate) const fn add<const FRACTIONS: bool>(&self, a: ExactTime, b: ExactTime) -> ExactTime {
        if !FRACTIONS {
            return ExactTime { micros: a.micros + b.micros, parts: 0 };
        }
        let parts = a.parts + b.parts;
        if parts >= self.parts {
            ExactTime { micros: a.micros + b.micros + 1, parts: parts - self.parts }
        } else {
            ExactTime { micros: a.micros + b.micros, parts }
        }
    }

    /// Returns `a - b`, or zero if `b` is the larger.
    #[inline(always)]
    pub(crate) fn sub<const FRACTIONS: bool>(&self, a: ExactTime, b: ExactTime) -> ExactTime {
        if !FRACTIONS {
            return ExactTime { micros: a.micros.saturating_sub(b.micros), parts: 0 };
        }
        if a <= b {
            ExactTime::default()
        } else if a.parts >= b.parts {
            ExactTime { micros: a.micros - b.micros, parts: a.parts - b.parts }
        } else {
            ExactTime { micros: a.micros - b.micros - 1, parts: a.parts + self.parts - b.parts }
        }
    }

    /// Returns `a <= b`.
    #[inline(always)]
    pub(crate) fn fits<const FRACTIONS: bool>(a: ExactTime, b: ExactTime) -> bool {
        if FRACTIONS { a <= b } else { a.micros <= b.micros }
    }

    /// Converts a time with another denominator, rounded up to the next part of this one.
    ///
    /// Rounding up means that a change of quota under load can cost a caller a part of a
    /// microsecond but never grants one.
    #[inline(always)]
    pub(crate) fn adopt(&self, moment: ExactTime, counted_in: u64) -> ExactTime {
        if counted_in == self.parts { moment } else { self.adopt_foreign(moment, counted_in) }
    }

    #[cold]
    fn adopt_foreign(&self, moment: ExactTime, counted_in: u64) -> ExactTime {
        if moment.parts == 0 {
            return moment;
        }
        let parts =
            (u128::from(moment.parts) * u128::from(self.parts)).div_ceil(u128::from(counted_in));
        let parts = u64::try_from(parts).unwrap_or(self.parts);
        if parts >= self.parts {
            ExactTime { micros: moment.micros + 1, parts: 0 }
        } else {
            ExactTime { micros: moment.micros, parts }
        }
    }
}

pub(crate) const fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN_PER_THREE_SECONDS: EmissionInterval = EmissionInterval::new(7, Span::from_secs(3));

    #[test]
    fn units_last_as_the_table_says() {
        let rows = [(1, 428_571, 3), (2, 857_142, 6), (3, 1_285_714, 2), (6, 2_571_428, 4)];
        for (units, micros, parts) in rows {
            assert_eq!(SEVEN_PER_THREE_SECONDS.lasting::<true>(units), ExactTime { micros, parts });
        }
        assert_eq!(
            SEVEN_PER_THREE_SECONDS.lasting::<true>(7),
            ExactTime::lasting(Span::from_secs(3))
        );
        assert_eq!(SEVEN_PER_THREE_SECONDS.lasting::<true>(0), ExactTime::default());
    }

    #[test]
    fn a_length_holds_the_units_that_made_it_and_not_one_more() {
        for (amount, micros) in [(7, 3_000_000), (333_333, 1_000_000), (10_000_000, 1_000_000)] {
            let interval = EmissionInterval::new(amount, Span::from_micros(micros));
            for units in [1, 2, 3, 6, 7, 1_000, 123_456] {
                let length = interval.lasting::<true>(units);
                assert_eq!(interval.units_in::<true>(length), units);
                let one_part = ExactTime { micros: 0, parts: 1 };
                if interval.parts() > 1 {
                    assert_eq!(
                        interval.units_in::<true>(interval.sub::<true>(length, one_part)),
                        units - 1
                    );
                }
            }
        }
    }

    #[test]
    fn a_length_is_covered_by_the_units_that_made_it_and_a_part_more_by_one_more() {
        for (amount, micros) in [(7, 3_000_000), (333_333, 1_000_000), (1, 2_000_000), (3, 7)] {
            let interval = EmissionInterval::new(amount, Span::from_micros(micros));
            assert_eq!(interval.units_covering(ExactTime::default()), 0);
            for units in [1, 2, 3, 6, 7, 1_000, 123_456] {
                let length = interval.lasting::<true>(units);
                assert_eq!(interval.units_covering(length), units);
                let whole = u64::from(interval.is_whole());
                let one_part = ExactTime { micros: whole, parts: 1 - whole };
                assert_eq!(
                    interval.units_covering(interval.add::<true>(length, one_part)),
                    units + 1
                );
                assert_eq!(interval.units_covering(interval.sub::<true>(length, one_part)), units);
            }
        }
    }

    #[test]
    fn counts_units_in_lengths_whose_parts_pass_64_bits() {
        let parts = (1 << 31) + 11;
        let interval = EmissionInterval::new(parts, Span::from_micros((1 << 50) - 27));
        let length = interval.lasting::<true>(1 << 20);
        assert!(length.micros.checked_mul(parts).is_none());
        assert_eq!(interval.units_in::<true>(length), 1 << 20);
    }

    #[test]
    fn many_units_of_a_slow_quota_saturate_at_the_largest_time() {
        // 2^33 units of 2^31 + 1/(2^31 + 11) us each: too many parts for 64 bits.
        let parts = (1 << 31) + 11;
        let interval = EmissionInterval::new(parts, Span::from_micros((1 << 31) * parts + 1));
        let units = 1 << 33;
        let total = u128::from(units) * (u128::from(parts) * (1 << 31) + 1);
        let lasting = interval.lasting_wide(units >> 13);
        let total_of_some = total >> 13;
        assert_eq!(u128::from(lasting.micros), total_of_some / u128::from(parts));
        assert_eq!(u128::from(lasting.parts), total_of_some % u128::from(parts));
        assert_eq!(
            lasting,
            interval.lasting::<true>(units >> 13),
            "both ways agree where both can"
        );
        assert_eq!(interval.lasting::<true>(1 << 52).micros, Time::MAX.as_micros());
    }

    #[test]
    fn carries_and_borrows_between_parts_and_micros() {
        let interval = SEVEN_PER_THREE_SECONDS;
        let a = ExactTime { micros: 5, parts: 4 };
        let b = ExactTime { micros: 2, parts: 6 };
        assert_eq!(interval.add::<true>(a, b), ExactTime { micros: 8, parts: 3 });
        assert_eq!(interval.sub::<true>(a, b), ExactTime { micros: 2, parts: 5 });
        assert_eq!(
            interval.add::<true>(a, ExactTime { micros: 0, parts: 3 }),
            ExactTime { micros: 6, parts: 0 }
        );
        assert_eq!(interval.sub::<true>(b, a), ExactTime::default());
        assert_eq!(interval.sub::<true>(a, a), ExactTime::default());
    }

    #[test]
    fn adopts_foreign_fractions_upwards() {
        let thirds = EmissionInterval::new(3, Span::from_micros(10));
        assert_eq!(
            thirds.adopt(ExactTime { micros: 9, parts: 3 }, 7),
            ExactTime { micros: 9, parts: 2 },
            "3/7 lies between 1/3 and 2/3"
        );
        assert_eq!(
            thirds.adopt(ExactTime { micros: 9, parts: 6 }, 7),
            ExactTime { micros: 10, parts: 0 }
        );
        assert_eq!(
            thirds.adopt(ExactTime { micros: 9, parts: 2 }, 6),
            ExactTime { micros: 9, parts: 1 }
        );
        assert_eq!(
            thirds.adopt(ExactTime { micros: 9, parts: 2 }, 3),
            ExactTime { micros: 9, parts: 2 }
        );
        assert_eq!(
            thirds.adopt(ExactTime { micros: 9, parts: 0 }, 7),
            ExactTime { micros: 9, parts: 0 }
        );
    }
}
