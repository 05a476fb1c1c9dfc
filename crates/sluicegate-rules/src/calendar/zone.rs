//! A named time zone: when a date begins there, and what its clocks show.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time as OfDay};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use crate::spelling;

const FEW_LETTERS: usize = 3;

/// A named time zone. All nodes carry the same database of them, whatever their system has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zone(TimeZone);

impl Zone {
    /// The zone that nobody had to choose.
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

    /// What the zone is called.
    pub(crate) fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The date and time that clocks show; `None` beyond the years that are known.
    pub(super) fn shown_at(&self, second: i64) -> Option<DateTime> {
        Some(self.0.to_datetime(Timestamp::from_second(second).ok()?))
    }

    /// By how many seconds clocks are ahead of UTC from one second up to another, if they are
    /// not changed in between.
    pub(crate) fn steady_offset(&self, from: i64, to: i64) -> Option<i64> {
        let change = self.0.following(Timestamp::from_second(from).ok()?).next();
        if change.is_some_and(|change| change.timestamp().as_second() < to) {
            return None;
        }
        self.offset_at(from)
    }

    /// By how many seconds clocks are ahead of UTC.
    pub(crate) fn offset_at(&self, second: i64) -> Option<i64> {
        Some(self.0.to_offset(Timestamp::from_second(second).ok()?).seconds().into())
    }

    /// The second at which a date begins.
    pub(super) fn midnight(&self, date: Date) -> Option<i64> {
        Some(self.first_moment(date.to_datetime(OfDay::midnight()))?.as_second())
    }

    /// The first moment at which clocks show this, or, where they skip it, something later.
    ///
    /// So a time that comes twice is the earlier one, a time that never comes is the moment of
    /// the skip, and what is shown later never comes earlier.
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

/// The name that was probably meant: one that has the same place in it, or one that is close.
fn suggestion(name: &str, zones: &TimeZoneDatabase) -> Option<String> {
    let known: Vec<_> = zones.available().collect();
    let names = || known.iter().map(jiff::tz::TimeZoneName::as_str);
    let place = name.rsplit('/').next().unwrap_or(name).replace(' ', "_");
    let same_place = names().find(|zone| {
        zone.rsplit_once('/').is_some_and(|(_, known)| known.eq_ignore_ascii_case(&place))
    });
    // Anything is close to a few letters.
    let close = || spelling::closest(name, names().filter(|_| name.len() > FEW_LETTERS));
    same_place.or_else(close).map(str::to_owned)
}

/// There is no time zone of this name.
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
    pub(crate) fn meant(&self) -> Option<&str> {
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
