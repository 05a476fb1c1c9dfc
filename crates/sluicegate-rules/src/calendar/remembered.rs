//! The stretch that was asked for last, in one word that threads share without waiting.

use std::sync::atomic::{AtomicU64, Ordering};

use super::unit::{Stretch, Unit};

/// Enough for seconds up to far beyond the last moment that can be told.
const START_BITS: u32 = 33;
/// Enough for the 366 days of a leap year.
const LENGTH_BITS: u32 = 25;
/// The rest tells units apart: none, 1 to 12 months, 1 to 51 days. Longer ones are not
/// remembered.
const UNITS: u64 = 1 << (64 - START_BITS - LENGTH_BITS);
const MONTHS: u64 = 12;

/// Start, length and unit of a stretch, or zero.
///
/// A word is whole or not there, and everything that is in it follows from the time zone, so no
/// order has to be kept between threads: the worst is that two of them work out the same.
#[derive(Debug, Default)]
pub(super) struct Remembered(AtomicU64);

impl Remembered {
    /// The last stretch, if it was one of this unit.
    pub(super) fn recall(&self, unit: Unit) -> Option<Stretch> {
        let word = self.0.load(Ordering::Relaxed);
        if tag(unit)? != word % UNITS {
            return None;
        }
        let start = word >> (64 - START_BITS);
        let length = word / UNITS % (1 << LENGTH_BITS);
        Some(Stretch { start: start.cast_signed(), end: (start + length).cast_signed() })
    }

    /// Remembers a stretch, unless it does not fit.
    pub(super) fn keep(&self, unit: Unit, stretch: Stretch) {
        let word = || {
            let start = u64::try_from(stretch.start).ok()?;
            let length = u64::try_from(stretch.end - stretch.start).ok()?;
            let fits = start < 1 << START_BITS && length < 1 << LENGTH_BITS;
            let tag = tag(unit).filter(|_| fits)?;
            Some((start << (64 - START_BITS)) | (length * UNITS) | tag)
        };
        if let Some(word) = word() {
            self.0.store(word, Ordering::Relaxed);
        }
    }
}

/// A number for each unit that is remembered; never zero.
fn tag(unit: Unit) -> Option<u64> {
    match unit {
        Unit::Months(months) => Some(u64::from(months)).filter(|tag| (1..=MONTHS).contains(tag)),
        Unit::Days(days) => {
            days.checked_add(MONTHS).filter(|tag| (MONTHS + 1..UNITS).contains(tag))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_recalled_for_its_unit_alone() {
        let units =
            (1..=12).map(Unit::Months).chain((1..=51).map(Unit::Days)).collect::<Vec<Unit>>();
        let stretches = [(0, 1), (1_792_879_200, 1_792_969_200), (8_589_934_591, 8_621_557_791)];
        for &unit in &units {
            for (start, end) in stretches {
                let remembered = Remembered::default();
                remembered.keep(unit, Stretch { start, end });
                for &other in &units {
                    let expected = (unit == other).then_some(Stretch { start, end });
                    assert_eq!(remembered.recall(other), expected, "{unit:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_remembered() {
        for (unit, start, end) in [
            (Unit::Days(1), -1, 86_399),
            (Unit::Days(52), 0, 52 * 86_400),
            (Unit::Days(u64::MAX), 0, 86_400),
            (Unit::Days(0), 0, 86_400),
            (Unit::Days(1), 1 << 33, (1 << 33) + 86_400),
            (Unit::Days(1), 0, 1 << 25),
            (Unit::Months(13), 0, 86_400),
            (Unit::Months(0), 0, 86_400),
        ] {
            let remembered = Remembered::default();
            remembered.keep(unit, Stretch { start, end });
            assert_eq!(remembered.recall(unit), None, "{unit:?} {start}..{end}");
        }
    }
}
