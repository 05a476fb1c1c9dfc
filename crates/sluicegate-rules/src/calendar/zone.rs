//! A named time zone: the start of its dates, and its local time.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time as OfDay};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use sluicegate_yaml::closest;

const FEW_LETTERS: usize = 3;

/// A named time zone, from a bundled database that is the same on all nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone(TimeZone);

impl Zone {
    /// The default zone.
    pub(crate) const UTC: Self = Self(TimeZone::UTC);

    /// The zone of this name, spelled exactly as in the IANA database: `Europe/Berlin`.
    pub(crate) fn named(name: &str) -> Result<Self, ZoneError> {
        let zones = TimeZoneDatabase::bundled();
        match zones.get(name) {
            Ok(zone) if zone.iana_name() == Some(name) && !zone.is_unknown() => Ok(Self(zone)),
            Ok(zone) if !zone.is_unknown() => {
                Err(ZoneError::new(name, zone.iana_name().map(str::to_owned)))
            }
            _ => Err(ZoneError::new(name, suggestion(name, &zones))),
        }
    }

    /// The name of the zone.
    pub(crate) fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The local date and time; `None` beyond the supported years.
    pub(super) fn local_at(&self, second: i64) -> Option<DateTime> {
        Some(self.0.to_datetime(Timestamp::from_second(second).ok()?))
    }

    /// The offset from UTC in seconds, if it does not change from one second to another.
    pub(crate) fn steady_offset(&self, from: i64, to: i64) -> Option<i64> {
        let change = self.0.following(Timestamp::from_second(from).ok()?).next();
        if change.is_some_and(|change| change.timestamp().as_second() < to) {
            return None;
        }
        self.offset_at(from)
    }

    /// The offset from UTC in seconds.
    pub(crate) fn offset_at(&self, second: i64) -> Option<i64> {
        Some(self.0.to_offset(Timestamp::from_second(second).ok()?).seconds().into())
    }

    /// The second at which a date begins.
    pub(super) fn midnight(&self, date: Date) -> Option<i64> {
        Some(self.first_moment(date.to_datetime(OfDay::midnight()))?.as_second())
    }

    /// The first moment at which the local time is at least this.
    ///
    /// For a repeated local time that is the earlier moment, for a skipped one the moment of the
    /// skip; a later local time never gives an earlier moment.
    pub(crate) fn first_moment(&self, shown: DateTime) -> Option<Timestamp> {
        match self.0.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset: before }
            | AmbiguousOffset::Fold { before, .. } => before.to_timestamp(shown).ok(),
            AmbiguousOffset::Gap { before, after } => {
                let not_yet = after.to_timestamp(shown).ok()?;
                let past = before.to_timestamp(shown).ok()?;
                let mut changes = self.0.following(not_yet).map(|change| change.timestamp());
                let skip = changes.find(|change| self.0.to_datetime(*change) >= shown);
                Some(skip.map_or(past, |skip| skip.min(past)))
            }
        }
    }
}

/// The name that was probably meant: one with the same place, or a similar one.
fn suggestion(name: &str, zones: &TimeZoneDatabase) -> Option<String> {
    let known: Vec<_> = zones.available().collect();
    let names = || known.iter().map(jiff::tz::TimeZoneName::as_str);
    let place = name.rsplit('/').next().unwrap_or(name).replace(' ', "_");
    let same_place = names().find(|zone| {
        zone.rsplit_once('/').is_some_and(|(_, known)| known.eq_ignore_ascii_case(&place))
    });
    // Short names are similar to too many others.
    let close = || closest(name, names().filter(|_| name.len() > FEW_LETTERS));
    same_place.or_else(close).map(str::to_owned)
}

/// The error for an unknown time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneError {
    found: String,
    meant: Option<String>,
}

impl ZoneError {
    fn new(found: &str, meant: Option<String>) -> Self {
        Self { found: found.to_owned(), meant }
    }

    /// The name that was probably meant.
    #[cfg(test)]
    pub(crate) fn suggestion(&self) -> Option<&str> {
        self.meant.as_deref()
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = &self.found;
        match &self.meant {
            Some(meant) => write!(f, "there is no time zone `{found}`; did you mean `{meant}`?"),
            None => write!(
                f,
                "there is no time zone `{found}`; use a name of the IANA database, \
                 as in `Europe/Berlin`, `America/New_York` or `UTC`"
            ),
        }
    }
}

impl std::error::Error for ZoneError {}
