//! Tests of rules with times of day.

use sluicegate::{Span, Time};

use crate::harness::{Call, NOVEMBER, TestLimiter, rules};

const MINUTE: u64 = 60_000_000;

fn at(day: u64, hour: u64, minute: u64) -> Time {
    NOVEMBER + Span::from_micros((day * 1_440 + hour * 60 + minute) * MINUTE)
}

fn applies(time: &str, now: Time) -> bool {
    let text =
        format!("rules: [{{ name: rule, key: [], limit: 5/min, match: {{ time: {time} }} }}]");
    !Call::new().met(&rules(&text), now).is_empty()
}

#[test]
fn a_range_includes_its_start_and_excludes_its_end() {
    let moment = Span::from_micros(1);
    for (time, from, to) in [
        ("{ from: '09:00', to: '17:00' }", at(0, 9, 0), at(0, 17, 0)),
        ("{ from: '09:00', to: '17:00', timezone: Europe/Berlin }", at(0, 8, 0), at(0, 16, 0)),
        ("{ from: '09:00', to: '17:00', timezone: America/New_York }", at(2, 14, 0), at(2, 22, 0)),
        ("{ from: '09:00', to: '17:00', timezone: Asia/Kolkata }", at(0, 3, 30), at(0, 11, 30)),
        ("{ from: '22:00', to: '06:00' }", at(0, 22, 0), at(1, 6, 0)),
        ("{ from: '00:00', to: '24:00', days: mon }", at(1, 0, 0), at(2, 0, 0)),
        ("{ days: mon-fri }", at(1, 0, 0), at(6, 0, 0)),
        // A night belongs to the day on which it begins.
        ("{ from: '22:00', to: '06:00', days: fri }", at(5, 22, 0), at(6, 6, 0)),
        ("{ from: '22:00', to: '06:00', days: sat }", at(6, 22, 0), at(7, 6, 0)),
    ] {
        let before = Time::from_micros(from.as_micros() - 1);
        let last = Time::from_micros(to.as_micros() - 1);
        assert!(!applies(time, before), "{time}: a moment before");
        assert!(applies(time, from), "{time}: at its beginning");
        assert!(applies(time, from + moment), "{time}: a moment after its beginning");
        assert!(applies(time, last), "{time}: a moment before its end");
        assert!(!applies(time, to), "{time}: at its end");
    }
}

#[test]
fn a_repeated_hour_is_included_twice() {
    // In New York, 2026-11-01: at 06:00 UTC the local time is 01:00 for the second time.
    let time = "{ from: '01:00', to: '02:00', timezone: America/New_York }";
    for (hour, minute, expected) in
        [(4, 59, false), (5, 0, true), (5, 59, true), (6, 0, true), (6, 59, true), (7, 0, false)]
    {
        assert_eq!(applies(time, at(0, hour, minute)), expected, "{hour}:{minute:02}");
    }
}

#[test]
fn the_zone_of_the_file_is_the_default() {
    let text = "
timezone: Europe/Berlin
rules: [{ name: rule, key: [], limit: 5/min, match: { time: [{ from: '09:00', to: '10:00' }, { from: '12:00', to: '13:00', timezone: UTC }] } }]
";
    let rules = rules(text);
    for (hour, minute, expected) in
        [(7, 59, false), (8, 0, true), (8, 59, true), (9, 0, false), (12, 0, true), (13, 0, false)]
    {
        assert_eq!(
            !Call::new().met(&rules, at(0, hour, minute)).is_empty(),
            expected,
            "{hour}:{minute:02}"
        );
    }
}

#[test]
fn a_rule_applies_only_within_its_hours() {
    let gate = TestLimiter::at(
        at(0, 16, 59),
        "rules: [{ name: office, key: ip, limit: 1/day, match: { time: { from: '09:00', to: '17:00' } } }]",
    );
    let call = Call::new().peer("203.0.113.9");
    gate.admit(1, &call);
    gate.refuse(&call);
    gate.set(at(0, 17, 0));
    gate.admit(10, &call);
}
