//! Timestamps in rule files: `2026-11-27T00:00:00+01:00`, or local time in a time zone.

mod error;
#[cfg(test)]
mod tests;

pub(crate) use self::error::InstantError;

use jiff::civil::{Date, Time as OfDay};
use jiff::tz::Offset;
use sluicegate::Time;

use crate::calendar::Zone;

/// Parses a timestamp as in rule files, in UTC if it has no offset.
///
/// ```
/// use sluicegate_rules::parse_moment;
///
/// assert_eq!(parse_moment("2026-11-27T10:00Z"), parse_moment("2026-11-27 10:00"));
/// assert!(parse_moment("tomorrow").unwrap_err().contains("write `2026-11-27`"));
/// ```
///
/// # Errors
///
/// A message about the text and the correct format.
pub fn parse_moment(text: &str) -> Result<Time, String> {
    parse(text, &Zone::UTC).map_err(|error| error.to_string())
}

/// Parses a timestamp.
///
/// | text | meaning |
/// |---|---|
/// | `2026-11-27T00:00:00+01:00`, `2026-11-26T23:00Z` | that time, as in RFC 3339 |
/// | `2026-11-27T00:00`, `2026-11-27 00:00:00` | local time in the zone |
/// | `2026-11-27` | the start of the day in the zone |
///
/// When clocks change, a local time that occurs twice means the first one, and a skipped one means
/// the time of the change. So no period starts late, and two periods that share a boundary have no
/// gap and no overlap.
pub(crate) fn parse(text: &str, zone: &Zone) -> Result<Time, InstantError> {
    let text = text.trim();
    let (date, rest) = text.split_at_checked(10).ok_or_else(|| InstantError::shape(text))?;
    let date = read_date(text, date)?;
    let moment = if rest.is_empty() {
        zone.first_moment(date.to_datetime(OfDay::midnight()))
    } else {
        let rest = rest.strip_prefix(['T', 't', ' ']).ok_or_else(|| InstantError::shape(text))?;
        let (of_day, offset) = split_offset(rest);
        let shown = date.to_datetime(read_time(text, date, of_day)?);
        match offset {
            None => zone.first_moment(shown),
            Some(offset) => read_offset(text, offset)?.to_timestamp(shown).ok(),
        }
    };
    let micros = moment.and_then(|moment| u64::try_from(moment.as_microsecond()).ok());
    match micros.filter(|micros| *micros <= Time::MAX.as_micros()) {
        Some(micros) => Ok(Time::from_micros(micros)),
        None => Err(InstantError::OutOfRange { found: text.to_owned() }),
    }
}

/// Parses `2026-11-27`.
fn read_date(text: &str, date: &str) -> Result<Date, InstantError> {
    let mut parts = date.split('-').map(digits);
    let (Some(Some((year, 4))), Some(Some((month, 2))), Some(Some((day, 2))), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(InstantError::shape(text));
    };
    let date = || {
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?)
            .ok()
    };
    date().ok_or_else(|| InstantError::NoSuchDate { found: date_text(year, month, day) })
}

fn date_text(year: u32, month: u32, day: u32) -> String {
    format!("{year:04}-{month:02}-{day:02}")
}

/// Parses `09:30`, `09:30:15` or `09:30:15.25`.
fn read_time(text: &str, date: Date, of_day: &str) -> Result<OfDay, InstantError> {
    let (clock, fraction) = match of_day.split_once('.') {
        None => (of_day, 0),
        Some((clock, fraction)) => {
            let micros = digits(fraction).filter(|(_, length)| (1..=6).contains(length));
            let (micros, length) = micros.ok_or_else(|| InstantError::shape(text))?;
            (clock, (length..6).fold(micros, |micros, _| micros * 10))
        }
    };
    let mut parts = clock.split(':').map(digits);
    let (Some(Some((hour, 2))), Some(Some((minute, 2)))) = (parts.next(), parts.next()) else {
        return Err(InstantError::shape(text));
    };
    let second = match (parts.next(), parts.next()) {
        (None, None) if fraction == 0 && clock.len() == of_day.len() => 0,
        (Some(Some((second, 2))), None) => second,
        _ => return Err(InstantError::shape(text)),
    };
    if (hour, minute, second, fraction) == (24, 0, 0, 0) {
        let next_day = date.tomorrow().map_or_else(|_| String::new(), |next| next.to_string());
        return Err(InstantError::EndOfDay { next_day });
    }
    let time = || {
        let small = |part: u32| i8::try_from(part).ok();
        let nanos = i32::try_from(fraction).ok()? * 1_000;
        OfDay::new(small(hour)?, small(minute)?, small(second)?, nanos).ok()
    };
    time().ok_or_else(|| InstantError::NoSuchTime { found: of_day.to_owned() })
}

/// Splits off the offset after the time of day: `Z`, `+01:00`, or none.
fn split_offset(rest: &str) -> (&str, Option<&str>) {
    match rest.find(['Z', 'z', '+', '-']) {
        Some(at) => {
            let (of_day, offset) = rest.split_at(at);
            (of_day, Some(offset))
        }
        None => (rest, None),
    }
}

fn read_offset(text: &str, offset: &str) -> Result<Offset, InstantError> {
    if offset.eq_ignore_ascii_case("z") {
        return Ok(Offset::UTC);
    }
    let wrong = || InstantError::Offset { found: text.to_owned(), offset: offset.to_owned() };
    let (sign, clock) = offset.split_at_checked(1).ok_or_else(wrong)?;
    let (hours, minutes) = clock.split_once(':').ok_or_else(wrong)?;
    let (Some((hours @ 0..24, 2)), Some((minutes @ 0..60, 2))) = (digits(hours), digits(minutes))
    else {
        return Err(wrong());
    };
    let seconds = i32::try_from(hours * 3_600 + minutes * 60).map_err(|_| wrong())?;
    Offset::from_seconds(if sign == "-" { -seconds } else { seconds }).map_err(|_| wrong())
}

/// Parses a number of at most nine digits, and returns it with the number of its digits.
fn digits(text: &str) -> Option<(u32, usize)> {
    let all = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 9;
    Some((text.parse().ok().filter(|_| all)?, text.len()))
}
