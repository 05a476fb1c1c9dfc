//! The calendar of a fixed window, such as that of a time zone.

use core::fmt;
use std::sync::Arc;

use crate::quota::Per;
use crate::time::{Period, Time};

/// A calendar for [`Limit::in_calendar`](crate::Limit::in_calendar).
///
/// Without one, a fixed window follows UTC. The calendar is called with each check of its limit,
/// so it should cache its periods.
///
/// # Contract
///
/// - The period of a time contains it.
/// - The periods of one `per` tile time: where one ends, the next one begins.
/// - The answer depends on the arguments alone, and is the same in every process that decides on
///   the same keys. When the period differs from the one a key was counted in, the count carries
///   over, so nodes that disagree would move it back and forth.
/// - Calendars of the same name give the same answers: limits are compared by that name.
pub trait Calendar: Send + Sync + fmt::Debug {
    /// Returns the name of the calendar, as in `Europe/Berlin`.
    fn name(&self) -> &str;

    /// Returns the period of length `per` that contains `time`.
    fn period_at(&self, per: Per, time: Time) -> Period;
}

/// A calendar as stored in a limit: compared by name.
#[derive(Clone)]
pub(crate) struct NamedCalendar(Arc<dyn Calendar>);

impl NamedCalendar {
    pub(crate) fn new(calendar: Arc<dyn Calendar>) -> Self {
        Self(calendar)
    }

    pub(crate) fn as_calendar(&self) -> &dyn Calendar {
        &*self.0
    }
}

impl PartialEq for NamedCalendar {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for NamedCalendar {}

/// Only the name: the cached state of a calendar is not part of the limit.
impl fmt::Debug for NamedCalendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.name(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Calendar;
    use crate::limit::Limit;
    use crate::quota::Per;
    use crate::time::{Period, Span, Time};

    /// A calendar with a single, fixed period.
    #[derive(Debug)]
    struct FixedCalendar(&'static str);

    impl Calendar for FixedCalendar {
        fn name(&self) -> &str {
            self.0
        }

        fn period_at(&self, _: Per, time: Time) -> Period {
            Period::new(Time::EPOCH, time + Span::from_secs(1)).unwrap()
        }
    }

    fn in_place(limit: &Limit, name: &'static str) -> Limit {
        limit.clone().in_calendar(Arc::new(FixedCalendar(name)))
    }

    #[test]
    fn windows_are_compared_by_the_name_of_their_calendar() {
        let utc = Limit::fixed_window("daily", "5/day".parse().unwrap()).unwrap();
        let here = in_place(&utc, "Here");
        assert_eq!(here, in_place(&utc, "Here"));
        assert_ne!(here, in_place(&utc, "There"));
        assert_ne!(here, utc);
        assert_eq!(here.clone().without_debt().named_calendar().unwrap().name(), "Here");
        assert_eq!(here.name_digest(), utc.name_digest(), "counters stay where they were filed");
        assert_eq!((here.calendar(), here.recovery()), (utc.calendar(), utc.recovery()));
        assert!(utc.named_calendar().is_none());
    }

    #[test]
    fn other_algorithms_ignore_the_calendar() {
        let quota = "5/day".parse().unwrap();
        for limit in [
            Limit::token_bucket("limit", quota).unwrap(),
            Limit::queue("limit", quota).unwrap(),
            Limit::sliding_log("limit", quota).unwrap(),
            Limit::concurrency("limit", 5, Span::from_secs(1)).unwrap(),
        ] {
            let same = in_place(&limit, "Here");
            assert_eq!(same, limit);
            assert!(same.named_calendar().is_none());
        }
    }
}
