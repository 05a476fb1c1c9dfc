//! Times of day that come back every week: business hours, nights, weekends.

mod days;
mod error;
mod minute;
mod offset;
#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use self::days::Days;
pub(crate) use self::error::DaytimeError;
pub(crate) use self::minute::Minute;

use sluicegate::Time;

use self::offset::Offset;
use crate::calendar::Zone;

/// A stretch of some days of the week, as clocks of a zone show it.
///
/// `from` is in it, `to` is not. Where `to` is not after `from`, it is on the next day, and the
/// night belongs to the day it began on: `fri 22:00-06:00` ends on Saturday morning. What clocks
/// show twice is in it twice, and what they skip is not.
#[derive(Debug)]
pub(crate) struct Daytime {
    days: Days,
    from: Minute,
    to: Minute,
    zone: Zone,
    offset: Offset,
}

impl Daytime {
    /// The stretch from one time of day to another, on these days.
    pub(crate) fn new(days: Days, from: Minute, to: Minute, zone: Zone) -> Self {
        Self { days, from, to, zone, offset: Offset::default() }
    }

    /// Whether no time is ever in it: no days, or a stretch that ends where it begins.
    pub(crate) fn is_empty(&self) -> bool {
        self.days.is_empty() || self.from == self.to
    }

    /// Whether a time is in it.
    pub(crate) fn contains(&self, time: Time) -> bool {
        let Some((day, minute)) = self.offset.shown_at(&self.zone, time) else { return false };
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
impl fmt::Display for Daytime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}-{} {}", self.days, self.from, self.to, self.zone.name())
    }
}

/// What is remembered of the zone makes no difference.
impl PartialEq for Daytime {
    fn eq(&self, other: &Self) -> bool {
        (self.days, self.from, self.to) == (other.days, other.from, other.to)
            && self.zone == other.zone
    }
}

impl Eq for Daytime {}

/// A copy remembers nothing yet.
impl Clone for Daytime {
    fn clone(&self) -> Self {
        Self::new(self.days, self.from, self.to, self.zone.clone())
    }
}
