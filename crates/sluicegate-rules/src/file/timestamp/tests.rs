//! Tests of timestamps and their errors.

use super::*;

fn berlin() -> Zone {
    Zone::named("Europe/Berlin").unwrap()
}

#[test]
fn reads_timestamps_with_an_offset_or_in_local_time() {
    for (text, second) in [
        ("2026-11-27T00:00:00+01:00", 1_795_734_000),
        ("2026-11-26T23:00Z", 1_795_734_000),
        ("2026-11-26t23:00:00z", 1_795_734_000),
        ("2026-11-26 23:00:00.000Z", 1_795_734_000),
        ("2026-11-26T17:30:00-05:30", 1_795_734_000),
        ("2026-11-27", 1_795_734_000),
        (" 2026-11-27 ", 1_795_734_000),
        ("2026-11-27T00:00", 1_795_734_000),
        ("2026-11-27 00:00", 1_795_734_000),
        ("2026-11-27 00:00:01", 1_795_734_001),
        ("2026-07-27", 1_785_103_200),
        ("1970-01-01T00:00Z", 0),
    ] {
        let expected = Time::from_micros(second * 1_000_000);
        assert_eq!(parse(text, &berlin()), Ok(expected), "{text}");
    }
    let half = parse("1970-01-01T00:00:01.5Z", &Zone::UTC).unwrap();
    assert_eq!(half.as_micros(), 1_500_000);
    let micro = parse("1970-01-01T00:00:01.000001", &Zone::UTC).unwrap();
    assert_eq!(micro.as_micros(), 1_000_001);
}

#[test]
fn an_ambiguous_local_time_is_the_first_one() {
    for (zone, local, moment) in [
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T02:30+02:00"),
        ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T03:00+01:00"),
        ("Europe/Berlin", "2026-03-29T02:00", "2026-03-29T03:00+02:00"),
        ("Europe/Berlin", "2026-03-29T02:59:59", "2026-03-29T03:00+02:00"),
        ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T03:00+02:00"),
        ("America/Sao_Paulo", "2017-10-15", "2017-10-15T01:00-02:00"),
        ("America/St_Johns", "2006-10-29", "2006-10-29T00:00-02:30"),
        ("Pacific/Apia", "2011-12-30", "2011-12-31T00:00+14:00"),
        ("Pacific/Apia", "2011-12-30T18:00", "2011-12-31T00:00+14:00"),
    ] {
        let zone = Zone::named(zone).unwrap();
        assert_eq!(parse(local, &zone), parse(moment, &Zone::UTC), "{local}");
        assert!(parse(local, &zone).is_ok(), "{local}");
    }
}

#[test]
fn errors_name_the_correct_format() {
    let moment = "is not a date and time; write `2026-11-27`, `2026-11-27T09:30` in local time, \
                  or `2026-11-27T09:30:00+01:00`";
    let offset = "is not an offset from UTC; use `Z` or hours and minutes as in `+01:00`, \
                  or remove it for local time";
    for (text, message) in [
        ("tomorrow", format!("`tomorrow` {moment}")),
        ("", format!("`` {moment}")),
        ("27.11.2026", format!("`27.11.2026` {moment}")),
        ("2026-1-27T00:00", format!("`2026-1-27T00:00` {moment}")),
        ("2026-11-27T", format!("`2026-11-27T` {moment}")),
        ("2026-11-27T9:30", format!("`2026-11-27T9:30` {moment}")),
        ("2026-11-27T09", format!("`2026-11-27T09` {moment}")),
        ("2026-11-27T09:30.5", format!("`2026-11-27T09:30.5` {moment}")),
        ("2026-11-27T09:30.0", format!("`2026-11-27T09:30.0` {moment}")),
        ("2026-11-27T09:30:00.1234567", format!("`2026-11-27T09:30:00.1234567` {moment}")),
        ("2026-11-27x09:30", format!("`2026-11-27x09:30` {moment}")),
        ("2026-11-2é", format!("`2026-11-2é` {moment}")),
        ("2026-11-27T09:30[Europe/Berlin]", format!("`2026-11-27T09:30[Europe/Berlin]` {moment}")),
        ("2026-11-27T09:30+1", format!("`+1` in `2026-11-27T09:30+1` {offset}")),
        ("2026-11-27T09:30+24:00", format!("`+24:00` in `2026-11-27T09:30+24:00` {offset}")),
        ("2026-11-27T09:30Zulu", format!("`Zulu` in `2026-11-27T09:30Zulu` {offset}")),
        (
            "2026-02-29",
            "the date `2026-02-29` does not exist; write year, month and day, as in `2026-11-27`"
                .to_owned(),
        ),
        (
            "2026-27-11T00:00",
            "the date `2026-27-11` does not exist; write year, month and day, as in `2026-11-27`"
                .to_owned(),
        ),
        ("2026-11-27T25:00", "the time `25:00` does not exist; use 00:00 to 23:59:59".to_owned()),
        (
            "2026-11-27T23:59:60Z",
            "the time `23:59:60` does not exist; use 00:00 to 23:59:59".to_owned(),
        ),
        (
            "2026-12-31T24:00",
            "the time `24:00` is that of the next day; write `2027-01-01T00:00`".to_owned(),
        ),
        (
            "1969-12-31T23:59Z",
            "`1969-12-31T23:59Z` is out of range; use a year from 1970 to 2112".to_owned(),
        ),
        (
            "9999-12-31T23:59-23:59",
            "`9999-12-31T23:59-23:59` is out of range; use a year from 1970 to 2112".to_owned(),
        ),
    ] {
        assert_eq!(parse(text, &berlin()).unwrap_err().to_string(), message);
    }
}
