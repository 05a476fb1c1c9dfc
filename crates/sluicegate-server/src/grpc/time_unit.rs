//! Conversion between gRPC's units of time and the periods of quotas.

use sluicegate::{Per, Quota, QuotaError, Span};

use super::proto::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use super::proto::envoy::r#type::v3::RateLimitUnit;

/// The units of fixed length, in seconds.
const SECONDS: [(Unit, u64); 5] = [
    (Unit::Second, 1),
    (Unit::Minute, 60),
    (Unit::Hour, 3_600),
    (Unit::Day, 86_400),
    (Unit::Week, 604_800),
];

/// Returns the unit of a quota's period; `Unknown` if there is none.
pub(super) fn of(per: Per) -> Unit {
    match per {
        Per::Months(1) => Unit::Month,
        Per::Months(12) => Unit::Year,
        Per::Months(_) => Unit::Unknown,
        Per::Span(span) => {
            let named = SECONDS.iter().find(|(_, seconds)| Span::from_secs(*seconds) == span);
            named.map_or(Unit::Unknown, |(unit, _)| *unit)
        }
    }
}

/// Returns a quota of `amount` per unit; `None` for an unknown unit.
pub(super) fn quota(amount: u32, unit: RateLimitUnit) -> Option<Result<Quota, QuotaError>> {
    let amount = u64::from(amount);
    Some(match response_unit(unit) {
        Unit::Unknown => return None,
        Unit::Month => Quota::per_months(amount, 1),
        Unit::Year => Quota::per_months(amount, 12),
        unit => {
            let seconds = SECONDS.iter().find(|(known, _)| *known == unit);
            Quota::new(amount, Span::from_secs(seconds.map_or(1, |(_, seconds)| *seconds)))
        }
    })
}

/// Returns the same unit as the type that responses use.
pub(super) fn response_unit(unit: RateLimitUnit) -> Unit {
    match unit {
        RateLimitUnit::Unknown => Unit::Unknown,
        RateLimitUnit::Second => Unit::Second,
        RateLimitUnit::Minute => Unit::Minute,
        RateLimitUnit::Hour => Unit::Hour,
        RateLimitUnit::Day => Unit::Day,
        RateLimitUnit::Month => Unit::Month,
        RateLimitUnit::Year => Unit::Year,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_map_to_the_unit_of_their_period() {
        for (text, unit) in [
            ("5/s", Unit::Second),
            ("100/min burst 20", Unit::Minute),
            ("1000/hour", Unit::Hour),
            ("1000/day", Unit::Day),
            ("10/week", Unit::Week),
            ("10/month", Unit::Month),
            ("5 per 15 minutes", Unit::Unknown),
            ("1/2s", Unit::Unknown),
            ("60/60s", Unit::Minute),
        ] {
            let quota: Quota = text.parse().unwrap();
            assert_eq!(of(quota.per()), unit, "{text}");
        }
    }

    #[test]
    fn units_and_quotas_round_trip() {
        for number in 1..=6 {
            let unit = RateLimitUnit::try_from(number).unwrap();
            let quota = quota(7, unit).unwrap().unwrap();
            assert_eq!((quota.amount(), of(quota.per())), (7, response_unit(unit)));
        }
        assert!(quota(7, RateLimitUnit::Unknown).is_none());
    }
}
