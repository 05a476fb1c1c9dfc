//! Accepted and rejected quotas, with their error texts.

use super::*;

fn quota(text: &str) -> Quota {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    text.parse::<Quota>().expect_err(text).to_string()
}

#[test]
fn reads_every_documented_form() {
    const MINUTE: Span = Span::from_secs(60);
    let rows = [
        ("100/min", 100, MINUTE, None),
        ("10/s burst 30", 10, Span::from_secs(1), Some(30)),
        ("100/s burst 3s", 100, Span::from_secs(1), Some(300)),
        ("5 per 15 minutes", 5, Span::from_secs(900), None),
        ("1/2s", 1, Span::from_secs(2), None),
        ("36/hour burst 864", 36, Span::from_secs(3600), Some(864)),
        ("36/hour burst 24h", 36, Span::from_secs(3600), Some(864)),
        ("  5 PER Minute ", 5, MINUTE, None),
        ("1_000_000/day", 1_000_000, Span::from_secs(86_400), None),
        ("3/250ms burst 0", 3, Span::from_millis(250), Some(0)),
        ("10/2 weeks", 10, Span::from_secs(1_209_600), None),
        ("1/us", 1, Span::from_micros(1), None),
        ("1/µs", 1, Span::from_micros(1), None),
        ("6/m burst 10s", 6, MINUTE, Some(1)),
    ];
    for (text, amount, period, burst) in rows {
        let quota = quota(text);
        assert_eq!(quota.amount(), amount, "{text}");
        assert_eq!(quota.per(), Per::Span(period), "{text}");
        assert_eq!(quota.burst(), burst, "{text}");
    }
    assert_eq!(quota("10000/month").per(), Per::Months(1));
    assert_eq!(quota("10000 per 3 months").per(), Per::Months(3));
}

#[test]
fn writes_itself_back() {
    for (text, canonical) in [
        ("100 per 60s", "100/min"),
        ("5 per 15 minutes", "5/15min"),
        ("100/s burst 3s", "100/s burst 300"),
        ("1/90s", "1/90s"),
        ("7/3 days", "7/3days"),
        ("7/10s", "7/10s"),
        ("1/month", "1/month"),
        ("1/2months burst 5", "1/2months burst 5"),
    ] {
        assert_eq!(quota(text).to_string(), canonical);
        assert_eq!(quota(canonical), quota(text));
    }
}

#[test]
fn rejects_invalid_input_with_a_suggestion() {
    let rows = [
        ("", "it is empty; write an amount and a time, as in `100/min`"),
        ("fast", "expected a whole number instead of `fast`; write it as in `100/min`"),
        ("100", "it has no time; say per how long, as in `100/min`"),
        ("100 a minute", "expected `/` or `per` where `a` stands, as in `100/min`"),
        ("100/", "a unit of time is missing; write it as in `100/min` or `5 per 15 minutes`"),
        ("100/5", "a unit of time is missing; write it as in `100/min` or `5 per 15 minutes`"),
        (
            "100/!",
            "`!` is not a unit of time; use us, ms, s, min, hour, day, week or month, as in \
             `100/min`",
        ),
        (
            "100/ns",
            "`ns` is not a unit of time; use us, ms, s, min, hour, day, week or month, as in \
             `100/min`",
        ),
        (
            "100/min burst",
            "`burst` needs a number or a time behind it, as in `10/s burst 30` or `10/s burst 3s`",
        ),
        ("100/min please", "nothing may follow but `burst` and a number or a time; found `please`"),
        (
            "100/min burst 3s please",
            "nothing may follow but `burst` and a number or a time; found `please`",
        ),
        (
            "1.5/s",
            "`1.5/s` is not a whole number; spread it over a longer time, as in `1/2s` for half a \
             unit a second",
        ),
        ("-3/s", "a quota cannot be negative; use at least 1, as in `1/min`"),
        (
            "0/s",
            "an amount of 0 never admits a request; use at least 1, or a block-list to refuse a \
             caller",
        ),
        ("5/0s", "a period of 0 has no rate; use at least 1us, as in `100/s`"),
        (
            "99999999999999999999/s",
            "99999999999999999999 is too large a number; use at most 4503599627370496",
        ),
        (
            "4503599627370497/s",
            "4503599627370497 is more than can be counted exactly; use at most 4503599627370496",
        ),
        (
            "1/s burst 4503599627370497",
            "4503599627370497 is more than can be counted exactly; use at most 4503599627370496",
        ),
        (
            "1/2000 weeks",
            "the period is too long to be counted exactly; use at most 35 years (12775 days)",
        ),
        (
            "1/99999999999999999 weeks",
            "the period is too long to be counted exactly; use at most 35 years (12775 days)",
        ),
        ("1/13 months", "windows of 13 months do not divide a year; use 1, 2, 3, 4, 6 or 12"),
        ("1/5 months", "windows of 5 months do not divide a year; use 1, 2, 3, 4, 6 or 12"),
        ("1/0 months", "a period of 0 has no rate; use at least 1us, as in `100/s`"),
        (
            "7/3s burst 1s",
            "a burst of 1s is not a whole number of units; write `burst 2` or `burst 3`",
        ),
        (
            "1/day burst 1h",
            "a burst of 1hour is not a whole number of units; write `burst 1` or `burst 2`",
        ),
        (
            "9/month burst 1day",
            "months have no fixed length, so a burst cannot be given as a time; use days, as in \
             `10000/30days burst 1day`",
        ),
        (
            "9/s burst 1month",
            "months have no fixed length, so a burst cannot be given as a time; use days, as in \
             `10000/30days burst 1day`",
        ),
    ];
    for (text, reason) in rows {
        assert_eq!(refusal(text), format!("cannot read the quota `{text}`: {reason}"));
    }
}

#[test]
fn an_error_quotes_only_the_beginning_of_a_long_text() {
    let message = refusal(&"ü".repeat(1_000_000));
    assert!(message.len() < 500, "{message}");
}

#[test]
fn accepts_the_largest_and_refuses_one_more() {
    assert!(Quota::new(Quota::MAX_AMOUNT, Span::MAX).is_ok());
    assert!(Quota::new(Quota::MAX_AMOUNT + 1, Span::MAX).is_err());
    let longer = Span::from_micros(Span::MAX.as_micros() + 1);
    assert_eq!(Quota::new(1, longer), Err(QuotaError::PeriodTooLong));
    assert!(Quota::per_months(1, 12).is_ok());
}
