//! Weekly schedules: business hours, nights, weekends.

mod days;
mod error;
mod minute;
mod offset_cache;
#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use self::days::Days;
pub(crate) use self::error::ScheduleError;
pub(crate) use self::minute::Minute;

use sluicegate::Time;

use self::offset_cache::OffsetCache;
use crate::calendar::Zone;

/// A range of local time on certain days of the week, in a time zone.
///
/// `from` is included, `to` is not. If `to` is not after `from`, it is on the next day, and the
/// night belongs to the day it began on: `fri 22:00-06:00` ends on Saturday morning. When clocks
/// are changed, a repeated local time is included both times, and a skipped one never.
#[derive(Debug)]
pub(crate) struct WeeklyHours {
    days: Days,
    from: Minute,
    to: Minute,
    zone: Zone,
    offset: OffsetCache,
}

impl WeeklyHours {
    /// Creates the range from one time of day to another, on these days.
    pub(crate) fn new(days: Days, from: Minute, to: Minute, zone: Zone) -> Self {
        Self { days, from, to, zone, offset: OffsetCache::default() }
    }

    /// Whether it contains no time: it has no days, or ends where it begins.
    pub(crate) fn is_empty(&self) -> bool {
        self.days.is_empty() || self.from == self.to
    }

    /// Whether it contains a time.
    pub(crate) fn contains(&self, time: Time) -> bool {
        let Some((day, minute)) = self.offset.local_at(&self.zone, time) else { return false };
        let (from, to) = (self.from.of_day(), self.to.of_day());
        if from < to {
            return self.days.contains(day) && (from..to).contains(&minute);
        }
        from != to
            && (self.days.contains(day) && minute >= from
                || self.days.contains(day.previous()) && minute < to)
    }
}

/// As in `mon-fri 09:00-17:00 Europe/Berlin`.
impl fmt::Display for WeeklyHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}-{} {}", self.days, self.from, self.to, self.zone.name())
    }
}

/// Ignores the offset cache.
impl PartialEq for WeeklyHours {
    fn eq(&self, other: &Self) -> bool {
        (self.days, self.from, self.to) == (other.days, other.from, other.to)
            && self.zone == other.zone
    }
}

impl Eq for WeeklyHours {}

/// A clone starts with an empty offset cache.
impl Clone for WeeklyHours {
    fn clone(&self) -> Self {
        Self::new(self.days, self.from, self.to, self.zone.clone())
    }
}
