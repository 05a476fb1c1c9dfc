//! A lock-free cache of the last period, in one word.

use std::sync::atomic::{AtomicU64, Ordering};

use super::period::{DateSpan, PeriodUnit};

/// Enough for seconds far beyond the last supported time.
const START_BITS: u32 = 33;
/// Enough for the 366 days of a leap year.
const LENGTH_BITS: u32 = 25;
/// The remaining bits encode the unit: none, 1 to 12 months, 1 to 51 days. Longer ones are not
/// cached.
const UNITS: u64 = 1 << (64 - START_BITS - LENGTH_BITS);
const MONTHS: u64 = 12;

/// The start, length and unit of a period, or zero.
///
/// Relaxed ordering is enough: a word is written atomically and depends on nothing but the time
/// zone. At worst, two threads compute the same period.
#[derive(Debug, Default)]
pub(super) struct PeriodCache(AtomicU64);

impl PeriodCache {
    /// The last period, if it has this unit.
    pub(super) fn get(&self, unit: PeriodUnit) -> Option<DateSpan> {
        let word = self.0.load(Ordering::Relaxed);
        if tag(unit)? != word % UNITS {
            return None;
        }
        let start = word >> (64 - START_BITS);
        let length = word / UNITS % (1 << LENGTH_BITS);
        Some(DateSpan { start: start.cast_signed(), end: (start + length).cast_signed() })
    }

    /// Caches a period, unless it does not fit.
    pub(super) fn keep(&self, unit: PeriodUnit, stretch: DateSpan) {
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

/// The code of each unit that can be cached; never zero.
fn tag(unit: PeriodUnit) -> Option<u64> {
    match unit {
        PeriodUnit::Months(months) => {
            Some(u64::from(months)).filter(|tag| (1..=MONTHS).contains(tag))
        }
        PeriodUnit::Days(days) => {
            days.checked_add(MONTHS).filter(|tag| (MONTHS + 1..UNITS).contains(tag))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_recalled_only_for_its_unit() {
        let units = (1..=12)
            .map(PeriodUnit::Months)
            .chain((1..=51).map(PeriodUnit::Days))
            .collect::<Vec<PeriodUnit>>();
        let stretches = [(0, 1), (1_792_879_200, 1_792_969_200), (8_589_934_591, 8_621_557_791)];
        for &unit in &units {
            for (start, end) in stretches {
                let remembered = PeriodCache::default();
                remembered.keep(unit, DateSpan { start, end });
                for &other in &units {
                    let expected = (unit == other).then_some(DateSpan { start, end });
                    assert_eq!(remembered.get(other), expected, "{unit:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn periods_that_do_not_fit_are_not_cached() {
        for (unit, start, end) in [
            (PeriodUnit::Days(1), -1, 86_399),
            (PeriodUnit::Days(52), 0, 52 * 86_400),
            (PeriodUnit::Days(u64::MAX), 0, 86_400),
            (PeriodUnit::Days(0), 0, 86_400),
            (PeriodUnit::Days(1), 1 << 33, (1 << 33) + 86_400),
            (PeriodUnit::Days(1), 0, 1 << 25),
            (PeriodUnit::Months(13), 0, 86_400),
            (PeriodUnit::Months(0), 0, 86_400),
        ] {
            let remembered = PeriodCache::default();
            remembered.keep(unit, DateSpan { start, end });
            assert_eq!(remembered.get(unit), None, "{unit:?} {start}..{end}");
        }
    }
}
