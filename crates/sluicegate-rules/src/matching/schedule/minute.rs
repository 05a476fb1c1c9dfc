//! A time of day in whole minutes: `09:00`, and `24:00` where a day ends.

use std::fmt;

use super::error::ScheduleError;

const MINUTES_PER_DAY: u16 = 24 * 60;

/// Minutes since midnight, up to the midnight that ends the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Minute(u16);

impl Minute {
    /// The midnight that begins a day.
    pub(crate) const MIDNIGHT: Self = Self(0);
    /// The midnight that ends it.
    pub(crate) const END_OF_DAY: Self = Self(MINUTES_PER_DAY);

    /// Parses the start of a range: `00:00` to `23:59`.
    pub(crate) fn parse_from(text: &str) -> Result<Self, ScheduleError> {
        match Self::parse_to(text)? {
            Self::END_OF_DAY => Err(ScheduleError::BeginsAtTheEnd),
            minute => Ok(minute),
        }
    }

    /// Parses the end of a range: `00:00` to `24:00`.
    pub(crate) fn parse_to(text: &str) -> Result<Self, ScheduleError> {
        let text = text.trim();
        let read = text.split_once(':').filter(|(hour, minute)| {
            (1..=2).contains(&hour.len()) && minute.len() == 2 && is_digits(hour, minute)
        });
        let read = read.and_then(|(hour, minute)| Some((hour.parse().ok()?, minute.parse().ok()?)));
        let Some((hour, minute)) = read else {
            return Err(ScheduleError::Time { found: text.to_owned(), meant: suggestion(text) });
        };
        Self::of(hour, minute).ok_or_else(|| ScheduleError::TooLate { found: text.to_owned() })
    }

    fn of(hour: u16, minute: u16) -> Option<Self> {
        let minutes = hour.checked_mul(60)?.checked_add(minute)?;
        (minute < 60 && minutes <= MINUTES_PER_DAY).then_some(Self(minutes))
    }

    pub(super) const fn of_day(self) -> u16 {
        self.0
    }
}

fn is_digits(hour: &str, minute: &str) -> bool {
    hour.bytes().chain(minute.bytes()).all(|byte| byte.is_ascii_digit())
}

/// The time that was probably meant by `9`, `9am`, `5:30 pm`, `17.30`, `0900` or `17:30:00`.
fn suggestion(text: &str) -> Option<Minute> {
    let lower = text.to_ascii_lowercase();
    let (time, noon) = if let Some(time) = lower.strip_suffix("am") {
        (time, Some(0))
    } else if let Some(time) = lower.strip_suffix("pm") {
        (time, Some(12))
    } else {
        (&*lower, None)
    };
    let time = time.trim().strip_suffix(":00").filter(|t| t.contains(':')).unwrap_or(time.trim());
    let (hour, minute) = match time.split_once([':', '.', 'h']) {
        Some(parts) => parts,
        None if time.len() == 4 => time.split_at_checked(2)?,
        None => (time, "0"),
    };
    let minute = if minute.is_empty() { "0" } else { minute };
    if !is_digits(hour, minute) {
        return None;
    }
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    match noon {
        None => Minute::of(hour, minute),
        Some(half) if (1..=12).contains(&hour) => Minute::of(hour % 12 + half, minute),
        Some(_) => None,
    }
}

/// As in `09:00`.
impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}
