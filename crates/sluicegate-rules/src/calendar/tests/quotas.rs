//! Tests of calendar quotas of a limiter in a time zone.

use std::time::Duration;

use sluicegate::{Check, Limit, Limiter, ManualClock, Memory};

use super::*;

struct Tenant {
    clock: ManualClock,
    limiter: Limiter<Memory<ManualClock>>,
}

impl Tenant {
    fn from(start: &str) -> Self {
        let clock = ManualClock::at(at(start));
        Self { limiter: Limiter::new(Memory::with_clock(clock.clone())), clock }
    }

    /// Whether it is allowed, and how many seconds to wait if not.
    fn check(&self, limit: &Limit) -> Result<(), u64> {
        let decision = self.limiter.check(Check::new(limit, "tenant")).now().unwrap();
        decision.retry_after().map_or(Ok(()), |wait| Err(wait.as_secs_ceil()))
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

fn limit(quota: &str, zone: &str) -> Limit {
    let limit = Limit::fixed_window("quota", quota.parse().unwrap()).unwrap();
    limit.in_calendar(ZonedCalendar::named(zone).unwrap())
}

#[test]
fn a_daily_quota_comes_back_at_local_midnight() {
    for (zone, midnight, hours) in [
        ("Europe/Berlin", "2026-10-25T00:00+02:00", 25),
        ("Europe/Berlin", "2026-03-29T00:00+01:00", 23),
        ("Europe/Berlin", "2026-07-01T00:00+02:00", 24),
        ("America/New_York", "2026-11-01T00:00-04:00", 25),
        ("America/Sao_Paulo", "2017-10-15T01:00-02:00", 23),
    ] {
        let daily = limit("1/day", zone);
        let tenant = Tenant::from(midnight);
        assert_eq!(tenant.check(&daily), Ok(()));
        assert_eq!(tenant.check(&daily), Err(hours * HOUR), "{zone} {midnight}");
        tenant.pass(hours * HOUR - 1);
        assert_eq!(tenant.check(&daily), Err(1), "{zone} {midnight}");
        tenant.pass(1);
        assert_eq!(tenant.check(&daily), Ok(()), "{zone} {midnight}");
    }
}

#[test]
fn a_monthly_quota_comes_back_on_the_first() {
    let monthly = limit("1/month", "Europe/Berlin");
    let tenant = Tenant::from("2024-02-29T23:59:59+01:00");
    assert_eq!((tenant.check(&monthly), tenant.check(&monthly)), (Ok(()), Err(1)));
    tenant.pass(1);
    // March has the day of 23 hours.
    assert_eq!(
        (tenant.check(&monthly), tenant.check(&monthly)),
        (Ok(()), Err((31 * 24 - 1) * HOUR))
    );
}

#[test]
fn a_change_of_zone_does_not_grant_a_second_quota() {
    let zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"];
    for old in zones {
        for new in zones {
            let (before, after) = (limit("1/day", old), limit("1/day", new));
            let tenant = Tenant::from("2026-06-10T12:00Z");
            assert_eq!(tenant.check(&before), Ok(()));
            let Err(wait) = tenant.check(&after) else { panic!("{old} to {new}: a second quota") };
            tenant.pass(wait - 1);
            assert_eq!(tenant.check(&after), Err(1), "{old} to {new}");
            tenant.pass(1);
            assert_eq!(tenant.check(&after), Ok(()), "{old} to {new}: at the new midnight");
        }
    }
}
