//! The calendar of a time zone, with fixed windows that begin at local midnight.

mod period;
#[cfg(test)]
mod tests;
mod zone;

use std::sync::Arc;

use arc_swap::ArcSwapOption;

pub(crate) use self::zone::{Zone, ZoneError};

use sluicegate::{Calendar, Per, Period, Span, Time, period_at};

use self::period::{DateSpan, PeriodUnit};

const DAY: u64 = 86_400_000_000;
const SECOND: u64 = 1_000_000;

/// The calendar of one time zone, for one limit.
///
/// Days run from local midnight to local midnight, so that a day on which clocks are changed has 23
/// or 25 hours. Multiples of days are aligned to 1970-01-01, weeks to Mondays, months to their
/// first day, multiples of months to January. A period that divides a day is counted in elapsed
/// time from local midnight; the last one ends with the day, even if that makes it shorter. Periods
/// of any other length are aligned as in UTC.
///
/// The last period is cached, so that a limit queries the time zone once per period. Limits should
/// not share a calendar, because they would evict each other's period.
#[derive(Debug)]
pub(crate) struct ZonedCalendar {
    zone: Zone,
    /// The last period.
    cached: ArcSwapOption<(PeriodUnit, DateSpan)>,
}

impl ZonedCalendar {
    /// The calendar of the zone with this name, as in `Europe/Berlin`.
    pub(crate) fn named(name: &str) -> Result<Arc<Self>, ZoneError> {
        Zone::named(name).map(Self::of)
    }

    /// The calendar of a zone.
    pub(crate) fn of(zone: Zone) -> Arc<Self> {
        Arc::new(Self { zone, cached: ArcSwapOption::empty() })
    }

    /// The range of whole days around a second; `None` beyond the supported years.
    fn date_span_at(&self, unit: PeriodUnit, second: i64) -> Option<DateSpan> {
        let cached = self.cached.load();
        if let Some((_, span)) =
            cached.as_deref().filter(|(own, span)| *own == unit && span.contains(second))
        {
            return Some(*span);
        }
        let span = unit.date_span_at(&self.zone, second)?;
        self.cached.store(Some(Arc::new((unit, span))));
        Some(span)
    }
}

impl Calendar for ZonedCalendar {
    fn name(&self) -> &str {
        self.zone.name()
    }

    fn period_at(&self, per: Per, time: Time) -> Period {
        let second = i64::try_from(time.as_micros() / SECOND).unwrap_or(i64::MAX);
        let local = match per {
            Per::Months(months) => self
                .date_span_at(PeriodUnit::Months(months.clamp(1, 12)), second)
                .and_then(DateSpan::period),
            Per::Span(span) => match span.as_micros() {
                days if days > 0 && days.is_multiple_of(DAY) => self
                    .date_span_at(PeriodUnit::Days(days / DAY), second)
                    .and_then(DateSpan::period),
                part if part > 0 && DAY.is_multiple_of(part) => self
                    .date_span_at(PeriodUnit::Days(1), second)
                    .and_then(|day| part_of_day(day, part, time)),
                _ => None,
            },
        };
        local.unwrap_or_else(|| period_at(per, time))
    }
}

/// The part of a day around a time, counted from its midnight and cut off at the next.
fn part_of_day(day: DateSpan, length: u64, time: Time) -> Option<Period> {
    let length = i64::try_from(length).ok()?;
    let (start, end) = day.micros();
    let into = i64::try_from(time.as_micros()).ok()?.checked_sub(start)?;
    let part_start = start + into - into.rem_euclid(length);
    between(part_start, end.min(part_start.saturating_add(length)))
}

/// The period between two times in microseconds since 1970, cut off at 1970.
fn between(start: i64, end: i64) -> Option<Period> {
    let time =
        |micros: i64| Time::EPOCH + Span::from_micros(u64::try_from(micros).unwrap_or_default());
    Period::new(time(start), time(end))
}
