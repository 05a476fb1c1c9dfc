//! Fixed windows in a local calendar: when a quota recovers, and when it does not.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{
    Calendar, Check, Limit, Limiter, ManualClock, Memory, Per, Period, Plan, Span, Time,
};

const HOUR: u64 = 3_600;

/// Midnights of Berlin around the end of summer time, on 2026-10-25, and the beginnings of the
/// months around it: in seconds since 1970.
const DAYS: [u64; 5] = [
    1_792_792_800, // 2026-10-24, at 22:00 of the day before in UTC
    1_792_879_200, // 2026-10-25, which has 25 hours
    1_792_969_200, // 2026-10-26, at 23:00 of the day before in UTC
    1_793_055_600, // 2026-10-27
    1_793_142_000, // 2026-10-28
];
const MONTHS: [u64; 4] = [
    1_790_805_600, // 2026-10-01, at 22:00 of the day before in UTC
    1_793_487_600, // 2026-11-01, at 23:00 of the day before in UTC
    1_796_079_600, // 2026-12-01
    1_798_758_000, // 2027-01-01
];

/// Berlin, for the times of these tests.
#[derive(Debug)]
struct Berlin;

impl Calendar for Berlin {
    fn name(&self) -> &'static str {
        "Europe/Berlin"
    }

    fn period_at(&self, per: Per, time: Time) -> Period {
        let edges = if per == Per::Months(1) { &MONTHS[..] } else { &DAYS[..] };
        let bounds = edges.windows(2).map(|pair| Period::new(at(pair[0]), at(pair[1])).unwrap());
        bounds.into_iter().find(|period| period.contains(time)).expect("a time these tests know")
    }
}

fn at(second: u64) -> Time {
    Time::from_micros(second * 1_000_000)
}

fn window(quota: &str) -> Limit {
    Limit::fixed_window("quota", quota.parse().unwrap()).unwrap()
}

fn berlin(quota: &str) -> Limit {
    window(quota).in_calendar(Arc::new(Berlin))
}

struct Day {
    clock: ManualClock,
    limiter: Limiter<Memory<ManualClock>>,
}

impl Day {
    fn starting(second: u64) -> Self {
        let clock = ManualClock::at(at(second));
        Self { limiter: Limiter::new(Memory::with_clock(clock.clone())), clock }
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Returns how many of some requests are allowed, and the next retry time.
    fn ask(&self, limit: &Limit, times: usize) -> (usize, Option<Span>) {
        let ask = || self.limiter.check(Check::new(limit, "tenant")).now().unwrap();
        let answers: Vec<_> = (0..times).map(|_| ask()).collect();
        let allowed = answers.iter().filter(|decision| decision.is_allowed()).count();
        (allowed, answers.last().and_then(sluicegate::Decision::retry_after))
    }
}

#[test]
fn a_day_lasts_25_hours_when_summer_time_ends() {
    let daily = berlin("3/day");
    let day = Day::starting(DAYS[1] - 1);
    assert_eq!(day.ask(&daily, 4), (3, Some(Span::from_secs(1))), "the last second of Saturday");
    day.pass(1);
    assert_eq!(day.ask(&daily, 4), (3, Some(Span::from_secs(25 * HOUR))));
    day.pass(24 * HOUR);
    assert_eq!(day.ask(&daily, 1), (0, Some(Span::from_secs(HOUR))), "a day of UTC has passed");
    day.pass(HOUR - 1);
    assert_eq!(day.ask(&daily, 1), (0, Some(Span::from_secs(1))));
    day.pass(1);
    assert_eq!(day.ask(&daily, 4), (3, Some(Span::from_secs(24 * HOUR))));
}

#[test]
fn a_month_begins_at_the_midnight_of_its_place() {
    let monthly = berlin("2/month");
    let day = Day::starting(MONTHS[0]);
    assert_eq!(day.ask(&monthly, 3), (2, Some(Span::from_secs((31 * 24 + 1) * HOUR))));
    day.pass(MONTHS[1] - MONTHS[0] - 1);
    assert_eq!(day.ask(&monthly, 1), (0, Some(Span::from_secs(1))));
    day.pass(1);
    assert_eq!(day.ask(&monthly, 3), (2, Some(Span::from_secs(30 * 24 * HOUR))));
}

#[test]
fn plans_and_batches_follow_the_calendar_too() {
    let (daily, utc) = (berlin("1/day"), window("9/day"));
    let day = Day::starting(DAYS[2] - 1);
    let mut plan = Plan::new();
    plan.require(Check::new(&daily, "plan"));
    plan.require(Check::new(&utc, "plan in UTC"));
    let ask = || day.limiter.check_plan(&plan).now().unwrap();
    assert!(ask().is_allowed());
    assert_eq!(ask().retry_after(), Some(Span::from_secs(1)));
    let mut alone = Plan::new();
    alone.require(Check::new(&daily, "batch"));
    let batch = [alone.clone(), alone];
    let ask_batch = || day.limiter.check_batch(&batch).now();
    assert_eq!(ask_batch()[1].as_ref().unwrap().retry_after(), Some(Span::from_secs(1)));
    day.pass(1);
    assert!(ask().is_allowed());
    assert!(ask_batch()[0].as_ref().unwrap().is_allowed());
}

#[test]
fn moving_to_another_calendar_takes_the_count_along() {
    let (utc, berlin) = (window("3/day"), berlin("3/day"));
    // Noon in UTC. Berlin ends this day in eleven hours, UTC in twelve.
    let noon = DAYS[2] + 13 * HOUR;
    for (old, new) in [(&utc, &berlin), (&berlin, &utc)] {
        let day = Day::starting(noon);
        assert_eq!(day.ask(old, 4).0, 3);
        let left = if new.named_calendar().is_some() { 11 } else { 12 };
        assert_eq!(day.ask(new, 1), (0, Some(Span::from_secs(left * HOUR))), "no second amount");
        day.pass(left * HOUR - 1);
        assert_eq!(day.ask(new, 1).0, 0, "until the new day ends");
        day.pass(1);
        assert_eq!(day.ask(new, 4).0, 3);
        assert_eq!(day.ask(old, 4).0, 0, "nor by going back");
    }
}

#[test]
fn changing_calendars_to_and_fro_gives_at_most_one_amount_per_midnight() {
    let calendars = [window("3/day"), berlin("3/day")];
    for first in 0..2 {
        let day = Day::starting(DAYS[2] + 13 * HOUR);
        let mut allowed = 0;
        for minute in 0..24 * 60 {
            allowed += day.ask(&calendars[(first + minute) % 2], 4).0;
            day.pass(60);
        }
        // One amount before the midnights and one after the first of them. At the second, an hour
        // later, the count has moved on if the last check used the other calendar.
        assert!(allowed == 6 || allowed == 9, "{allowed} in a day with two midnights");
    }
}
