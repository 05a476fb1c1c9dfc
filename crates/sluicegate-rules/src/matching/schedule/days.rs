//! Days of the week and sets of them: `mon-fri`, `sat, sun`.

use std::fmt;

use super::error::ScheduleError;
use sluicegate_yaml::closest;

/// A day of the week, Monday first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weekday(u8);

const NAMES: [(&str, &str); 7] = [
    ("mon", "monday"),
    ("tue", "tuesday"),
    ("wed", "wednesday"),
    ("thu", "thursday"),
    ("fri", "friday"),
    ("sat", "saturday"),
    ("sun", "sunday"),
];

impl Weekday {
    /// The day this number of days after a Monday.
    pub(super) fn after_monday(days: u64) -> Self {
        Self(u8::try_from(days % 7).unwrap_or_default())
    }

    /// The day before.
    pub(super) const fn previous(self) -> Self {
        Self((self.0 + 6) % 7)
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..7).map(Self)
    }

    /// The short name.
    fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).map_or("", |(short, _)| short)
    }

    fn parse(text: &str) -> Result<Self, ScheduleError> {
        let is_name = |name: &str| name.eq_ignore_ascii_case(text);
        let mut days = Self::all().zip(NAMES);
        match days.find(|(_, (short, long))| is_name(short) || is_name(long)) {
            Some((day, _)) => Ok(day),
            None => Err(ScheduleError::Day { found: text.to_owned(), meant: suggestion(text) }),
        }
    }
}

/// The day that was probably meant, by its short name: also from `tues` or `thurs`.
fn suggestion(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let begins = NAMES.into_iter().find(|(short, _)| lower.starts_with(short));
    begins.map(|(short, _)| short).or_else(|| {
        let long = closest(&lower, NAMES.map(|(_, long)| long))?;
        NAMES.into_iter().find(|(_, name)| *name == long).map(|(short, _)| short)
    })
}

/// A set of days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Days(u8);

impl Days {
    /// Every day.
    pub(crate) const ALL: Self = Self(0b111_1111);
    /// No day.
    pub(crate) const NONE: Self = Self(0);

    /// Parses `mon`, `Monday`, `mon-fri`, or several of them as in `mon-wed, sat`.
    ///
    /// A range may pass the end of the week: `sat-mon` are three days.
    pub(crate) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let mut days = Self::NONE;
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (Weekday::parse(first.trim())?, Weekday::parse(last.trim())?);
            let length = (last.0 + 7 - first.0) % 7;
            for day in 0..=length {
                days = days.with(Weekday((first.0 + day) % 7));
            }
        }
        Ok(days)
    }

    /// The days of either set.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is no day in the set.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn contains(self, day: Weekday) -> bool {
        self.0 >> day.0 & 1 == 1
    }

    const fn with(self, day: Weekday) -> Self {
        Self(self.0 | 1 << day.0)
    }
}

/// Adjacent days as a range, in the syntax of the parser: `mon-fri`, `mon-wed,sat`.
impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("never");
        }
        let days: Vec<Weekday> = Weekday::all().filter(|day| self.contains(*day)).collect();
        let neighbours = days.chunk_by(|day, next| day.0 + 1 == next.0);
        for (index, range) in neighbours.enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match range {
                [first, .., last] => write!(f, "{comma}{}-{}", first.name(), last.name())?,
                one => one.iter().try_for_each(|day| write!(f, "{comma}{}", day.name()))?,
            }
        }
        Ok(())
    }
}
