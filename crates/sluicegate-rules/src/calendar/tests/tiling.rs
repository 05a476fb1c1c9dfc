//! Tests with random times from 1970 to 2100 in all zones, many of them near changes of clocks.

use jiff::tz::TimeZoneDatabase;
use sluicegate_testkit::Rng;

use super::*;

/// The number of random times: few in debug builds, many in optimized ones.
const SAMPLES: usize = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
/// The beginning of 2100.
const END: u64 = 4_102_444_800;

/// A generator of random times.
struct Numbers(Rng);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// A random time; every other one is within two days of a change of clocks, if there are any.
    fn moment(&mut self, changes: &[u64]) -> Time {
        let second = match changes {
            [] => self.below(END),
            _ if self.below(2) == 0 => self.below(END),
            _ => {
                let change = changes[usize::try_from(self.below(changes.len() as u64)).unwrap()];
                (change + self.below(4 * 86_400)).saturating_sub(2 * 86_400)
            }
        };
        Time::from_micros(second * SECOND + self.below(SECOND))
    }
}

/// All zones, with the seconds at which their clocks are changed.
fn zones() -> Vec<(Zone, Vec<u64>)> {
    let database = TimeZoneDatabase::bundled();
    let names = database.available().filter_map(|name| Zone::named(name.as_str()).ok());
    let last = jiff::Timestamp::from_second(END.cast_signed()).unwrap();
    names
        .map(|zone| {
            let timezone = database.get(zone.name()).unwrap();
            let changes = timezone.following(jiff::Timestamp::UNIX_EPOCH);
            let changes = changes.map(|change| change.timestamp()).take_while(|at| *at < last);
            let seconds = changes.map(|at| at.as_second().cast_unsigned()).collect();
            (zone, seconds)
        })
        .collect()
}

fn pers() -> [Per; 10] {
    [
        days(1),
        days(7),
        Per::Months(1),
        Per::Months(3),
        Per::Months(12),
        minutes(60),
        minutes(15),
        minutes(6 * 60),
        days(3),
        days(60),
    ]
}

fn before(time: Time) -> Time {
    Time::from_micros(time.as_micros() - 1)
}

#[test]
fn periods_tile_time_in_all_zones() {
    let places = zones();
    assert!(places.len() > 500, "{} zones", places.len());
    let mut numbers = Numbers(Rng::new(1970));
    for sample in 0..SAMPLES {
        let (zone, changes) = &places[sample % places.len()];
        let time = numbers.moment(changes);
        let per = pers()[sample / places.len() % pers().len()];
        let zoned = ZonedCalendar::of(zone.clone());
        let period = zoned.period_at(per, time);
        let here = || format!("{} {per:?} {time:?} {period:?}", zone.name());
        assert!(period.contains(time), "{}", here());
        // Cached answers equal fresh ones.
        for zoned in [&zoned, &ZonedCalendar::of(zone.clone())] {
            assert_eq!(zoned.period_at(per, period.start()), period, "{}", here());
            assert_eq!(zoned.period_at(per, before(period.end())), period, "{}", here());
            assert_eq!(zoned.period_at(per, period.end()).start(), period.end(), "{}", here());
        }
        if period.start() > Time::EPOCH {
            let previous = zoned.period_at(per, before(period.start()));
            assert_eq!(previous.end(), period.start(), "{}", here());
        }
        assert_local_boundaries(zone, per, period);
    }
}

/// Asserts the boundaries of a period from local times only.
fn assert_local_boundaries(zone: &Zone, per: Per, period: Period) {
    let start = (period.start().as_micros() / SECOND).cast_signed();
    if start == 0 {
        return;
    }
    let first = zone.local_at(start).unwrap();
    let before = zone.local_at(start - 1).unwrap();
    let here = || format!("{} {per:?} {period:?}: {before} and then {first}", zone.name());
    let midnight = first.date().to_datetime(jiff::civil::Time::midnight());
    if per == minutes(15) || per == minutes(60) || per == minutes(6 * 60) {
        let Per::Span(span) = per else { return };
        let is_short = seconds(period) < span.as_secs_ceil();
        let end = (period.end().as_micros() / SECOND).cast_signed();
        let next = zone.local_at(end).unwrap();
        let ends_a_day = zone.local_at(end - 1).unwrap().date() < next.date();
        assert!(!is_short || ends_a_day, "cut off within a day: {}", here());
        assert!(seconds(period) <= span.as_secs_ceil(), "{}", here());
        return;
    }
    assert!(before < midnight && midnight <= first, "a date begins: {}", here());
    match per {
        Per::Months(months) => {
            assert_eq!(first.day(), 1, "{}", here());
            assert_eq!((i64::from(first.month()) - 1) % i64::from(months), 0, "{}", here());
        }
        per if per == days(7) => {
            assert_eq!(first.weekday(), jiff::civil::Weekday::Monday, "{}", here());
        }
        per if per == days(1) => {
            // Antarctic stations change their clocks by many hours at once.
            let hours = 12..=36;
            assert!(hours.contains(&(seconds(period) / HOUR)), "{}", here());
        }
        Per::Span(_) => {}
    }
}

#[test]
fn one_calendar_serves_many_period_lengths() {
    let zoned = ZonedCalendar::named("America/St_Johns").unwrap();
    let mut numbers = Numbers(Rng::new(7));
    for sample in 0..SAMPLES / 10 {
        let per = pers()[sample % pers().len()];
        // Times that are near each other, so that the cache is used.
        let time = Time::from_micros((1_162_000_000 + numbers.below(4 * 86_400)) * SECOND);
        let anew = ZonedCalendar::of(zoned.zone.clone());
        assert_eq!(zoned.period_at(per, time), anew.period_at(per, time), "{per:?} {time:?}");
    }
}

#[test]
fn the_calendar_of_utc_equals_the_default_calendar() {
    let mut numbers = Numbers(Rng::new(0));
    let zoned = ZonedCalendar::named("UTC").unwrap();
    let spans = [1, 7, DAY / 7, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 400 * DAY, 5 * DAY / 2];
    let spans = spans.map(|span| Per::Span(Span::from_micros(span)));
    let pers: Vec<_> = spans.into_iter().chain((1..=12).map(Per::Months)).chain(pers()).collect();
    for sample in 0..SAMPLES {
        let per = pers[sample % pers.len()];
        let time = numbers.moment(&[]);
        assert_eq!(zoned.period_at(per, time), period_at(per, time), "{per:?} {time:?}");
    }
}
