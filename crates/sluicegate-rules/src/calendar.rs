//! The calendar of a time zone: fixed windows that begin at its midnights.

mod remembered;
#[cfg(test)]
mod tests;
mod unit;
mod zone;

use std::sync::Arc;

pub(crate) use self::zone::{Zone, ZoneError};

use sluicegate::{Calendar, Per, Period, Span, Time, period_at};

use self::remembered::Remembered;
use self::unit::{Stretch, Unit};

const DAY: u64 = 86_400_000_000;
const SECOND: u64 = 1_000_000;

/// The calendar of one time zone, for one limit.
///
/// Days run from local midnight to local midnight, so that one of them has 23 hours and one 25
/// where clocks are changed. Whole days tile from 1970-01-01, whole weeks from Mondays, months
/// from their first, several months from January. What is shorter than a day and divides it is
/// counted in elapsed time from local midnight; the last of a day ends with the day, however
/// long that is. Any other length has nothing to do with days, and tiles as in UTC.
///
/// The period of the last moment is remembered, so that a limit asks the time zone once per
/// period. Two limits could share a calendar, but would forget each other's period.
#[derive(Debug)]
pub(crate) struct Zoned {
    zone: Zone,
    remembered: Remembered,
}

impl Zoned {
    /// The calendar of the zone with this name, as in `Europe/Berlin`.
    pub(crate) fn named(name: &str) -> Result<Arc<Self>, ZoneError> {
        Zone::named(name).map(Self::of)
    }

    /// The calendar of a zone.
    pub(crate) fn of(zone: Zone) -> Arc<Self> {
        Arc::new(Self { zone, remembered: Remembered::default() })
    }

    /// The stretch of whole days around a second; `None` beyond the years that are known.
    fn stretch_at(&self, unit: Unit, second: i64) -> Option<Stretch> {
        let known = self.remembered.recall(unit).filter(|stretch| stretch.contains(second));
        if known.is_some() {
            return known;
        }
        let stretch = unit.stretch_at(&self.zone, second)?;
        self.remembered.keep(unit, stretch);
        Some(stretch)
    }
}

impl Calendar for Zoned {
    fn name(&self) -> &str {
        self.zone.name()
    }

    fn period_at(&self, per: Per, time: Time) -> Period {
        let second = i64::try_from(time.as_micros() / SECOND).unwrap_or(i64::MAX);
        let local = match per {
            Per::Months(months) => {
                self.stretch_at(Unit::Months(months.clamp(1, 12)), second).and_then(Stretch::period)
            }
            Per::Span(span) => match span.as_micros() {
                days if days > 0 && days.is_multiple_of(DAY) => {
                    self.stretch_at(Unit::Days(days / DAY), second).and_then(Stretch::period)
                }
                part if part > 0 && DAY.is_multiple_of(part) => self
                    .stretch_at(Unit::Days(1), second)
                    .and_then(|day| part_of_day(day, part, time)),
                _ => None,
            },
        };
        local.unwrap_or_else(|| period_at(per, time))
    }
}

/// The part of a day around a time, counted from its midnight and cut off at the next.
fn part_of_day(day: Stretch, length: u64, time: Time) -> Option<Period> {
    let length = i64::try_from(length).ok()?;
    let (start, end) = day.micros();
    let into = i64::try_from(time.as_micros()).ok()?.checked_sub(start)?;
    let part_start = start + into - into.rem_euclid(length);
    between(part_start, end.min(part_start.saturating_add(length)))
}

/// The period between two microseconds counted from 1970; what lies before it is cut off.
fn between(start: i64, end: i64) -> Option<Period> {
    let time =
        |micros: i64| Time::EPOCH + Span::from_micros(u64::try_from(micros).unwrap_or_default());
    Period::new(time(start), time(end))
}
