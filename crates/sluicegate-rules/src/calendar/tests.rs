//! Tests of the periods of time zones: their boundaries, and that they cover time without gaps.

mod quotas;
mod tiling;

use super::*;

const HOUR: u64 = 3_600;

fn days(days: u64) -> Per {
    Per::Span(Span::from_micros(days * DAY))
}

fn minutes(minutes: u64) -> Per {
    Per::Span(Span::from_secs(minutes * 60))
}

/// A time written with its offset.
fn at(text: &str) -> Time {
    let time: jiff::Timestamp = text.parse().unwrap();
    Time::from_micros(time.as_microsecond().try_into().unwrap())
}

fn seconds(period: Period) -> u64 {
    period.end().since(period.start()).as_secs_ceil()
}

#[test]
fn periods_begin_and_end_at_local_boundaries() {
    let cases = [
        // The ends and beginnings of summer time.
        ("Europe/Berlin", days(1), "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"),
        ("Europe/Berlin", days(1), "2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"),
        ("America/New_York", days(1), "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"),
        ("America/New_York", days(1), "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00"),
        ("Australia/Lord_Howe", days(1), "2026-04-05T00:00+11:00", "2026-04-06T00:00+10:30"),
        // Midnights that do not exist.
        ("America/Sao_Paulo", days(1), "2017-10-15T01:00-02:00", "2017-10-16T00:00-02:00"),
        ("America/Sao_Paulo", days(1), "2017-10-14T00:00-03:00", "2017-10-15T01:00-02:00"),
        ("Asia/Beirut", days(1), "2022-03-27T01:00+03:00", "2022-03-28T00:00+03:00"),
        // A repeated midnight: the clock is set back from 00:01 to 23:01.
        ("America/St_Johns", days(1), "2006-10-29T00:00-02:30", "2006-10-30T00:00-03:30"),
        ("America/St_Johns", days(1), "2006-10-28T00:00-02:30", "2006-10-29T00:00-02:30"),
        // A skipped Friday.
        ("Pacific/Apia", days(1), "2011-12-29T00:00-10:00", "2011-12-31T00:00+14:00"),
        ("Pacific/Apia", days(1), "2011-12-31T00:00+14:00", "2012-01-01T00:00+14:00"),
        ("Pacific/Apia", days(7), "2011-12-26T00:00-10:00", "2012-01-02T00:00+14:00"),
        // Weeks from Monday, several days from 1970-01-01.
        ("Europe/Berlin", days(7), "2026-10-19T00:00+02:00", "2026-10-26T00:00+01:00"),
        ("Europe/Berlin", days(3), "1970-01-04T00:00+01:00", "1970-01-07T00:00+01:00"),
        ("Europe/Berlin", days(14), "1970-01-05T00:00+01:00", "1970-01-19T00:00+01:00"),
        // Months of leap years and others, and several of them.
        ("Asia/Tokyo", Per::Months(1), "2024-02-01T00:00+09:00", "2024-03-01T00:00+09:00"),
        ("Asia/Tokyo", Per::Months(1), "2025-02-01T00:00+09:00", "2025-03-01T00:00+09:00"),
        ("Asia/Tokyo", Per::Months(1), "2100-02-01T00:00+09:00", "2100-03-01T00:00+09:00"),
        ("Europe/Berlin", Per::Months(3), "2026-10-01T00:00+02:00", "2027-01-01T00:00+01:00"),
        ("Europe/Berlin", Per::Months(6), "2026-01-01T00:00+01:00", "2026-07-01T00:00+02:00"),
        ("Europe/Berlin", Per::Months(12), "2024-01-01T00:00+01:00", "2025-01-01T00:00+01:00"),
        // Hours from local midnight, also where that is not at a full hour of UTC.
        ("Asia/Kathmandu", minutes(60), "2026-01-01T07:00+05:45", "2026-01-01T08:00+05:45"),
        ("Asia/Kathmandu", minutes(360), "2026-01-01T06:00+05:45", "2026-01-01T12:00+05:45"),
        // Elapsed hours: on a day of 23 hours, six hours after midnight the clock shows seven.
        ("Europe/Berlin", minutes(360), "2026-03-29T07:00+02:00", "2026-03-29T13:00+02:00"),
        ("Europe/Berlin", minutes(360), "2026-03-29T19:00+02:00", "2026-03-30T00:00+02:00"),
        ("Europe/Berlin", minutes(360), "2026-10-25T23:00+01:00", "2026-10-26T00:00+01:00"),
        ("Australia/Lord_Howe", minutes(60), "2026-04-05T23:30+10:30", "2026-04-06T00:00+10:30"),
        // Lengths that do not divide a day are aligned as in UTC.
        ("Asia/Kathmandu", minutes(7), "1970-01-02T00:02Z", "1970-01-02T00:09Z"),
        ("Asia/Kathmandu", minutes(36 * 60), "1970-01-02T12:00Z", "1970-01-04T00:00Z"),
    ];
    for (zone, per, start, end) in cases {
        let zoned = ZonedCalendar::named(zone).unwrap();
        let expected = Period::new(at(start), at(end)).unwrap();
        let last = Time::from_micros(at(end).as_micros() - 1);
        let middle = Time::from_micros(u64::midpoint(at(start).as_micros(), last.as_micros()));
        // A clock that is set back across midnight shows yesterday's date at that moment.
        let soon = (at(start) + Span::from_secs(HOUR / 2)).min(last);
        for time in [at(start), soon, middle, last] {
            for zoned in [&zoned, &ZonedCalendar::named(zone).unwrap()] {
                assert_eq!(zoned.period_at(per, time), expected, "{zone} {per:?} from {start}");
            }
        }
    }
}

#[test]
fn days_with_clock_changes_are_longer_or_shorter() {
    for (zone, expected) in [
        ("Europe/Berlin", vec![23 * HOUR, 24 * HOUR, 25 * HOUR]),
        ("America/New_York", vec![23 * HOUR, 24 * HOUR, 25 * HOUR]),
        ("Australia/Lord_Howe", vec![47 * HOUR / 2, 24 * HOUR, 49 * HOUR / 2]),
        ("Asia/Tokyo", vec![24 * HOUR]),
        ("UTC", vec![24 * HOUR]),
    ] {
        let zoned = ZonedCalendar::named(zone).unwrap();
        let mut lengths = Vec::new();
        let mut time = at("2026-01-01T12:00Z");
        for _ in 0..365 {
            let day = zoned.period_at(days(1), time);
            lengths.push(seconds(day));
            time = day.end();
        }
        assert_eq!(lengths.len(), 365, "one period per date");
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths, expected, "{zone}");
    }
}

#[test]
fn the_first_and_the_last_moment_have_a_period() {
    let months = (0..=13).chain([u32::MAX]).map(Per::Months);
    let spans = [0, 1, DAY / 96, DAY / 24, DAY, 7 * DAY, 51 * DAY, 52 * DAY, 1 << 50];
    let pers: Vec<_> = months.chain(spans.map(|span| Per::Span(Span::from_micros(span)))).collect();
    for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Niue", "Africa/Monrovia", "Asia/Kolkata"] {
        let zoned = ZonedCalendar::named(zone).unwrap();
        for &per in &pers {
            let beyond = Time::MAX + Span::MAX;
            for time in [Time::EPOCH, Time::from_micros(1), Time::MAX, beyond] {
                let period = zoned.period_at(per, time);
                assert!(period.contains(time), "{zone} {per:?} {time:?}");
            }
        }
    }
    // Local midnight of the first day was before 1970; its hours are still counted from midnight.
    let kolkata = ZonedCalendar::named("Asia/Kolkata").unwrap();
    let hour = kolkata.period_at(minutes(60), Time::EPOCH);
    assert_eq!((hour.start(), hour.end()), (Time::EPOCH, at("1970-01-01T06:00+05:30")));
    let day = kolkata.period_at(days(1), Time::EPOCH);
    assert_eq!((day.start(), day.end()), (Time::EPOCH, at("1970-01-02T00:00+05:30")));
}

#[test]
fn the_zone_is_queried_once_per_period() {
    let zoned = ZonedCalendar::named("Europe/Berlin").unwrap();
    for (per, unit) in [
        (days(1), PeriodUnit::Days(1)),
        (minutes(15), PeriodUnit::Days(1)),
        (days(30), PeriodUnit::Days(30)),
        (Per::Months(12), PeriodUnit::Months(12)),
    ] {
        let period = zoned.period_at(per, at("2026-10-25T12:00+01:00"));
        let cached = zoned.cached.load_full().unwrap();
        assert_eq!(cached.0, unit, "{per:?}");
        let known = cached.1.period().unwrap();
        assert!(known.start() <= period.start() && period.end() <= known.end(), "{per:?}");
    }
}

#[test]
fn unknown_zones_are_refused_with_the_name_that_was_meant() {
    for (found, meant) in [
        ("Europe/Berln", Some("Europe/Berlin")),
        ("europe/berlin", Some("Europe/Berlin")),
        ("Europe/Kiew", Some("Europe/Kiev")),
        ("utc", Some("UTC")),
        ("Berlin", Some("Europe/Berlin")),
        ("new york", Some("America/New_York")),
        ("Etc/Unknown", None),
        ("Middle Earth", None),
        ("", None),
    ] {
        let error = ZonedCalendar::named(found).unwrap_err();
        assert_eq!(error.suggestion(), meant, "{found}");
    }
    let said = |name| ZonedCalendar::named(name).unwrap_err().to_string();
    assert_eq!(
        said("Europe/Berln"),
        "there is no time zone `Europe/Berln`; did you mean `Europe/Berlin`?"
    );
    assert_eq!(
        said("Middle Earth"),
        "there is no time zone `Middle Earth`; use a name of the IANA database, \
         as in `Europe/Berlin`, `America/New_York` or `UTC`"
    );
    let berlin = ZonedCalendar::named("Europe/Berlin").unwrap();
    assert_eq!(berlin.name(), "Europe/Berlin");
}
