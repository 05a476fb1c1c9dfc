//! Calendar periods in UTC.

use sluicegate_core::{Per, Period, Span, Time};

const DAY: u64 = 86_400_000_000;
const WEEK: u64 = 7 * DAY;
/// 1970 began on a Thursday; the first Monday was the fifth of January.
const FIRST_MONDAY: u64 = 4 * DAY;

/// Returns the period of length `per` that contains `time`, in UTC.
///
/// Periods up to a day begin at midnight and tile from there as far as they divide the day;
/// whole weeks begin on Mondays, months on their first day, several months in January.
/// Any other length tiles from the beginning of 1970.
pub fn period_at(per: Per, time: Time) -> Period {
    let micros = time.as_micros();
    let (start, end) = match per {
        Per::Span(span) => {
            let length = span.as_micros().max(1);
            // The origin of the tiling, moved before 1970 so that no time lies before it.
            let origin = if length.is_multiple_of(WEEK) { FIRST_MONDAY } else { 0 };
            let into = (micros + length - origin % length) % length;
            (micros.saturating_sub(into), micros + length - into)
        }
        Per::Months(months) => {
            let months = u64::from(months.clamp(1, 12));
            let month = month_of(micros / DAY);
            let first = month - month % months;
            (first_day(first) * DAY, first_day(first + months) * DAY)
        }
    };
    Period::new(Time::EPOCH + Span::from_micros(start), Time::EPOCH + Span::from_micros(end))
        .unwrap_or_else(|| unreachable!("a period of {per:?} is not empty"))
}

/// Returns the calendar month of a day, counted from January of year 0.
///
/// Years are taken from March to February, so that the leap day comes last and the days
/// before each month follow one formula.
fn month_of(days_since_1970: u64) -> u64 {
    // Days since the first of March of year 0; 400 years have 146 097 days.
    let days = days_since_1970 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    (era * 400 + year_of_era) * 12 + months_since_march + 2
}

/// Returns the days from 1970 to the first day of a month counted from January of year 0.
fn first_day(month: u64) -> u64 {
    let (year, months_since_march) = ((month - 2) / 12, (month - 2) % 12);
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * months_since_march + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).saturating_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the days since 1970 of the first of each month, one month after the other.
    fn months() -> impl Iterator<Item = (u64, u64)> {
        let mut day = 0;
        (1970..2112_u64).flat_map(|year| (0..12).map(move |month| (year, month))).map(
            move |(year, month)| {
                let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let february = if leap { 29 } else { 28 };
                let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
                let first = day;
                day += lengths[usize::try_from(month).unwrap()];
                (first, day)
            },
        )
    }

    fn at(day: u64, micros: u64) -> Time {
        Time::from_micros(day * DAY + micros)
    }

    #[test]
    fn months_tile_with_leap_years_and_without() {
        for (first, next) in months() {
            for time in [at(first, 0), at(first, 1), at(next - 1, DAY - 1)] {
                let period = period_at(Per::Months(1), time);
                assert_eq!((period.start(), period.end()), (at(first, 0), at(next, 0)));
            }
        }
    }

    #[test]
    fn quarters_and_years_begin_in_january() {
        let all: Vec<_> = months().collect();
        for quarter in all.chunks(3) {
            let period = period_at(Per::Months(3), at(quarter[1].0, 7));
            assert_eq!((period.start(), period.end()), (at(quarter[0].0, 0), at(quarter[2].1, 0)));
        }
        for year in all.chunks(12) {
            let period = period_at(Per::Months(12), at(year[11].0, 7));
            assert_eq!((period.start(), period.end()), (at(year[0].0, 0), at(year[11].1, 0)));
        }
    }

    #[test]
    fn spans_tile_and_weeks_begin_on_monday() {
        // 2026-11-15T20:24:37Z, a Sunday.
        let sunday = Time::from_micros(1_794_774_277_000_000);
        let monday = Time::from_micros(1_794_787_200_000_000);
        let week = period_at(Per::Span(Span::from_micros(WEEK)), sunday);
        assert_eq!(week.end(), monday);
        assert_eq!(period_at(Per::Span(Span::from_micros(WEEK)), monday).start(), monday);
        let quarter = period_at(Per::Span(Span::from_secs(900)), sunday);
        assert_eq!(quarter.start(), Time::from_micros(1_794_773_700_000_000));
        assert_eq!(quarter.end().since(quarter.start()), Span::from_secs(900));
        for span in [1, 7, 1_000_000, 420_000_000, DAY, 3 * DAY, WEEK, 2 * WEEK] {
            let per = Per::Span(Span::from_micros(span));
            let mut time = Time::from_micros(1_794_774_277_000_001);
            for _ in 0..20 {
                let period = period_at(per, time);
                assert!(period.contains(time));
                assert_eq!(period.end().since(period.start()).as_micros(), span);
                assert_eq!(period_at(per, period.start()), period);
                time = period.end();
            }
        }
    }

    #[test]
    fn every_moment_has_a_period_even_the_first_and_last() {
        let months = (0..=13).chain([u32::MAX]).map(Per::Months);
        let spans = [0, 1, WEEK, 2 * WEEK, Span::MAX.as_micros()];
        for per in months.chain(spans.map(|span| Per::Span(Span::from_micros(span)))) {
            for time in [Time::EPOCH, Time::from_micros(1), Time::from_micros(WEEK), Time::MAX] {
                assert!(period_at(per, time).contains(time), "{per:?} at {time:?}");
            }
        }
        let week = Per::Span(Span::from_micros(WEEK));
        assert_eq!(period_at(week, Time::EPOCH).end(), at(4, 0), "up to the first Monday");
    }
}
