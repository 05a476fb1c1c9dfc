//! Periods of whole days: their dates, and their start and end in a time zone.

use jiff::SignedDuration;
use jiff::civil::{Date, date};
use sluicegate::Period;

use super::zone::Zone;
use super::{SECOND, between};

const WEEK: u64 = 7;
const SECONDS_PER_DAY: i64 = 86_400;
/// 1970 began on a Thursday; the first Monday was the fifth of January.
const FIRST_MONDAY: i64 = 4;
/// A change of clocks at midnight can make a date belong to the period before or after.
const TRIES: usize = 4;

/// The length of a period of whole days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeriodUnit {
    /// A number of days, counted from 1 January 1970; whole weeks from a Monday.
    Days(u64),
    /// A number of months, counted from a January.
    Months(u32),
}

/// From one local midnight up to another, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DateSpan {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl DateSpan {
    pub(super) const fn contains(self, second: i64) -> bool {
        self.start <= second && second < self.end
    }

    pub(super) const fn micros(self) -> (i64, i64) {
        let second = SECOND.cast_signed();
        (self.start.saturating_mul(second), self.end.saturating_mul(second))
    }

    pub(super) fn period(self) -> Option<Period> {
        let (start, end) = self.micros();
        between(start, end)
    }
}

impl PeriodUnit {
    /// The range around a second; `None` beyond the supported years.
    ///
    /// The local date is only where the search begins: a clock that is set back across midnight
    /// shows yesterday's date after today has begun.
    pub(super) fn date_span_at(self, zone: &Zone, second: i64) -> Option<DateSpan> {
        let mut day = zone.local_at(second)?.date();
        for _ in 0..TRIES {
            let (first, next) = self.dates_around(day)?;
            let stretch = DateSpan { start: zone.midnight(first)?, end: zone.midnight(next)? };
            if stretch.contains(second) {
                return Some(stretch);
            }
            day = if second < stretch.start { first.yesterday().ok()? } else { next };
        }
        None
    }

    /// The first date of the range around a date, and the first date of the next one.
    fn dates_around(self, day: Date) -> Option<(Date, Date)> {
        match self {
            Self::Days(days) => {
                let origin = if days.is_multiple_of(WEEK) { FIRST_MONDAY } else { 0 };
                let days = i64::try_from(days).ok().filter(|days| *days > 0)?;
                let since_1970 = day.duration_since(FIRST_DAY).as_secs() / SECONDS_PER_DAY;
                let first = since_1970 - (since_1970 - origin).rem_euclid(days);
                Some((date_of(first)?, date_of(first.checked_add(days)?)?))
            }
            Self::Months(months) => {
                let months = i64::from(months);
                let month = i64::from(day.year()) * 12 + i64::from(day.month()) - 1;
                let first = month - month.rem_euclid(months);
                Some((first_of(first)?, first_of(first + months)?))
            }
        }
    }
}

const FIRST_DAY: Date = date(1970, 1, 1);

/// The date this number of days after 1 January 1970.
fn date_of(days_since_1970: i64) -> Option<Date> {
    let seconds = days_since_1970.checked_mul(SECONDS_PER_DAY)?;
    FIRST_DAY.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// The first day of a month counted from January of year 0.
fn first_of(month: i64) -> Option<Date> {
    let year = i16::try_from(month.div_euclid(12)).ok()?;
    let month = i8::try_from(month.rem_euclid(12) + 1).ok()?;
    Date::new(year, month, 1).ok()
}
