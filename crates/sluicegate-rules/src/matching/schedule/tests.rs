use super::*;

fn hours(days: &str, from: &str, to: &str, zone: &str) -> WeeklyHours {
    let (from, to) = (Minute::parse_from(from).unwrap(), Minute::parse_to(to).unwrap());
    WeeklyHours::new(Days::parse(days).unwrap(), from, to, Zone::named(zone).unwrap())
}

fn at(text: &str) -> Time {
    crate::file::timestamp::parse(text, &Zone::UTC).unwrap()
}

#[test]
fn weekly_hours_include_their_start_and_exclude_their_end() {
    let cases = [
        // 2026-11-27 is a Friday.
        ("mon-fri", "09:00", "17:00", "Europe/Berlin", "2026-11-27T08:59:59.999999+01:00", false),
        ("mon-fri", "09:00", "17:00", "Europe/Berlin", "2026-11-27T09:00+01:00", true),
        ("mon-fri", "09:00", "17:00", "Europe/Berlin", "2026-11-27T16:59:59.999999+01:00", true),
        ("mon-fri", "09:00", "17:00", "Europe/Berlin", "2026-11-27T17:00+01:00", false),
        ("mon-fri", "09:00", "17:00", "Europe/Berlin", "2026-11-28T09:00+01:00", false),
        ("mon-fri", "09:00", "17:00", "Asia/Tokyo", "2026-11-27T09:00+01:00", false),
        // A whole day, up to its end.
        ("sat", "00:00", "24:00", "UTC", "2026-11-27T23:59:59Z", false),
        ("sat", "00:00", "24:00", "UTC", "2026-11-28T00:00Z", true),
        ("sat", "00:00", "24:00", "UTC", "2026-11-28T23:59:59Z", true),
        ("sat", "00:00", "24:00", "UTC", "2026-11-29T00:00Z", false),
        // The day differs with the zone.
        ("sat", "00:00", "24:00", "Pacific/Auckland", "2026-11-27T11:00Z", true),
        ("sat", "00:00", "24:00", "Pacific/Auckland", "2026-11-28T11:00Z", false),
        // A night belongs to the day it began on.
        ("fri", "22:00", "06:00", "UTC", "2026-11-27T05:00Z", false),
        ("fri", "22:00", "06:00", "UTC", "2026-11-27T21:59Z", false),
        ("fri", "22:00", "06:00", "UTC", "2026-11-27T22:00Z", true),
        ("fri", "22:00", "06:00", "UTC", "2026-11-28T05:59Z", true),
        ("fri", "22:00", "06:00", "UTC", "2026-11-28T06:00Z", false),
        ("fri", "22:00", "06:00", "UTC", "2026-11-28T22:00Z", false),
        ("sun", "22:00", "06:00", "UTC", "2026-11-30T03:00Z", true),
        ("fri", "22:00", "00:00", "UTC", "2026-11-27T23:59Z", true),
        ("fri", "22:00", "00:00", "UTC", "2026-11-28T00:00Z", false),
        // A repeated hour is included twice, a skipped one never.
        ("sun", "02:00", "03:00", "Europe/Berlin", "2026-10-25T02:30+02:00", true),
        ("sun", "02:00", "03:00", "Europe/Berlin", "2026-10-25T02:30+01:00", true),
        ("sun", "02:00", "03:00", "Europe/Berlin", "2026-10-25T03:00+01:00", false),
        ("sun", "02:00", "03:00", "Europe/Berlin", "2026-03-29T01:59+01:00", false),
        ("sun", "02:00", "03:00", "Europe/Berlin", "2026-03-29T03:00+02:00", false),
        // The first supported day was a Thursday, in the west still a Wednesday.
        ("thu", "00:00", "24:00", "UTC", "1970-01-01T00:00Z", true),
        ("wed", "00:00", "24:00", "America/New_York", "1970-01-01T00:00Z", true),
    ];
    for (days, from, to, zone, time, expected) in cases {
        let hours = hours(days, from, to, zone);
        assert_eq!(hours.contains(at(time)), expected, "{hours} at {time}");
        assert_eq!(hours.contains(at(time)), expected, "{hours} at {time}, remembered");
    }
}

#[test]
fn weekly_hours_agree_with_local_time_minute_by_minute() {
    for (zone, day) in [
        ("Europe/Berlin", "2026-10-24"),
        ("Europe/Berlin", "2026-03-28"),
        ("Australia/Lord_Howe", "2026-04-04"),
        ("Asia/Kathmandu", "2026-01-01"),
        ("America/St_Johns", "2006-10-28"),
        ("Pacific/Apia", "2011-12-29"),
    ] {
        let night = hours("mon,wed,fri-sun", "21:30", "05:15", zone);
        let start = crate::file::timestamp::parse(day, &night.zone).unwrap();
        let timezone = jiff::tz::TimeZoneDatabase::bundled().get(zone).unwrap();
        for minute in 0..3 * 24 * 60 {
            let time = start + sluicegate::Span::from_secs(minute * 60);
            let micros = i64::try_from(time.as_micros()).unwrap();
            let shown = timezone.to_datetime(jiff::Timestamp::from_microsecond(micros).unwrap());
            let clock = (shown.hour(), shown.minute());
            let began = if clock < (5, 15) { shown.weekday().previous() } else { shown.weekday() };
            let off = [jiff::civil::Weekday::Tuesday, jiff::civil::Weekday::Thursday];
            let expected = !((5, 15)..(21, 30)).contains(&clock) && !off.contains(&began);
            assert_eq!(night.contains(time), expected, "{night} at {shown}");
        }
    }
}

#[test]
fn an_empty_daytime_contains_nothing() {
    for (days, from, to, empty) in [
        (Days::NONE, "09:00", "17:00", true),
        (Days::ALL, "09:00", "09:00", true),
        (Days::ALL, "00:00", "00:00", true),
        (Days::ALL, "00:00", "24:00", false),
        (Days::ALL, "09:00", "08:59", false),
    ] {
        let (from, to) = (Minute::parse_from(from).unwrap(), Minute::parse_to(to).unwrap());
        let hours = WeeklyHours::new(days, from, to, Zone::UTC);
        assert_eq!(hours.is_empty(), empty, "{hours}");
        let minutes = (0..7 * 24 * 60).map(|minute| Time::from_micros(minute * 60_000_000));
        assert_eq!(minutes.filter(|time| hours.contains(*time)).count() == 0, empty);
    }
}

#[test]
fn days_are_read_and_shown() {
    for (text, shown) in [
        ("mon", "mon"),
        ("Monday", "mon"),
        ("mon-fri", "mon-fri"),
        ("Monday - Friday", "mon-fri"),
        ("sat,sun", "sat-sun"),
        ("sat-mon", "mon,sat-sun"),
        ("mon-wed, fri", "mon-wed,fri"),
        ("sun-sat", "mon-sun"),
        ("tue-tue", "tue"),
    ] {
        let days = Days::parse(text).unwrap();
        assert_eq!(days.to_string(), shown, "{text}");
        assert_eq!(Days::parse(shown).unwrap(), days, "{shown}");
    }
    assert_eq!(Days::parse("mon-sun").unwrap(), Days::ALL);
    let weekend = Days::parse("sat").unwrap().and(Days::parse("sun").unwrap());
    assert_eq!(weekend, Days::parse("sat-sun").unwrap());
    assert_eq!(Days::NONE.to_string(), "never");
}

#[test]
fn times_of_day_are_read_and_shown() {
    for (text, shown) in
        [("09:00", "09:00"), ("9:00", "09:00"), ("0:05", "00:05"), ("23:59", "23:59")]
    {
        assert_eq!(Minute::parse_from(text).unwrap().to_string(), shown);
    }
    assert_eq!(Minute::parse_to("24:00").unwrap(), Minute::END_OF_DAY);
    assert_eq!(Minute::parse_from("00:00").unwrap(), Minute::MIDNIGHT);
    let office = hours("mon-fri", "9:00", "17:00", "Europe/Berlin");
    assert_eq!(office.to_string(), "mon-fri 09:00-17:00 Europe/Berlin");
    assert_eq!(office.clone(), office);
    assert_ne!(office, hours("mon-fri", "9:00", "17:00", "Europe/Paris"));
}

#[test]
fn errors_suggest_the_correct_form() {
    for (text, said) in [
        (
            "mo",
            "`mo` is not a day of the week; use mon, tue, wed, thu, fri, sat or sun, \
                or a range as in `mon-fri`",
        ),
        ("tues", "`tues` is not a day of the week; did you mean `tue`?"),
        ("mon-frday", "`frday` is not a day of the week; did you mean `fri`?"),
        (
            "mon,,fri",
            "`` is not a day of the week; use mon, tue, wed, thu, fri, sat or sun, \
                      or a range as in `mon-fri`",
        ),
    ] {
        assert_eq!(Days::parse(text).unwrap_err().to_string(), said);
    }
    let written =
        |found: &str, meant: &str| format!("`{found}` is not a time of day; write it as `{meant}`");
    for (text, said) in [
        ("9", written("9", "09:00")),
        ("9am", written("9am", "09:00")),
        ("5:30 PM", written("5:30 PM", "17:30")),
        ("12am", written("12am", "00:00")),
        ("17.30", written("17.30", "17:30")),
        ("0900", written("0900", "09:00")),
        ("9h30", written("9h30", "09:30")),
        ("09:30:00", written("09:30:00", "09:30")),
        ("009:30", written("009:30", "09:30")),
        (
            "noon",
            "`noon` is not a time of day; use hours and minutes from 00:00 to 24:00, \
                  as in `09:30`"
                .to_owned(),
        ),
        (
            "-1:00",
            "`-1:00` is not a time of day; use hours and minutes from 00:00 to 24:00, \
                   as in `09:30`"
                .to_owned(),
        ),
        (
            "25:00",
            "`25:00` is out of range; times run from 00:00 to 23:59, and 24:00 ends a day"
                .to_owned(),
        ),
        (
            "24:01",
            "`24:01` is out of range; times run from 00:00 to 23:59, and 24:00 ends a day"
                .to_owned(),
        ),
        (
            "09:60",
            "`09:60` is out of range; times run from 00:00 to 23:59, and 24:00 ends a day"
                .to_owned(),
        ),
        ("24:00", "a range cannot begin at `24:00`; use `00:00` of the next day".to_owned()),
    ] {
        assert_eq!(Minute::parse_from(text).unwrap_err().to_string(), said);
    }
    for odd in ["", ":", "é9:00", "99999:00", "99999999999pm", "1é", "am", "１２:00"] {
        assert!(Minute::parse_from(odd).is_err(), "{odd}");
        assert!(Days::parse(odd).is_err(), "{odd}");
    }
}
