//! Which calendar a fixed window follows: days and months begin when a place says they do.

use core::fmt;
use std::sync::Arc;

use crate::quota::Per;
use crate::time::{Period, Time};

/// Knows which period of a calendar a moment falls into, for
/// [`Limit::in_calendar`](crate::Limit::in_calendar).
///
/// Without one, a fixed window follows UTC. A calendar is asked with each check of its limit,
/// so it should answer from what it worked out before.
///
/// # Contract
///
/// - The period of a moment contains it.
/// - The periods of one `per` tile time: where one ends, the next one begins.
/// - The answer depends on the arguments alone, and is the same in every process that decides
///   about the same keys. A period that differs from the one a key was counted in takes the
///   count along, so nodes that disagree would move it to and fro.
/// - Calendars of the same name give the same answers: limits are compared by it.
pub trait Calendar: Send + Sync + fmt::Debug {
    /// What the calendar is called, as in `Europe/Berlin`.
    fn name(&self) -> &str;

    /// The period of length `per` that `time` falls into.
    fn period_at(&self, per: Per, time: Time) -> Period;
}

/// A calendar as a limit keeps it: compared by name.
#[derive(Clone)]
pub(crate) struct Named(Arc<dyn Calendar>);

impl Named {
    pub(crate) fn new(calendar: Arc<dyn Calendar>) -> Self {
        Self(calendar)
    }

    pub(crate) fn as_calendar(&self) -> &dyn Calendar {
        &*self.0
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Named {}

/// Only the name: what a calendar remembers says nothing about the limit.
impl fmt::Debug for Named {
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

    /// A place where every period is the same.
    #[derive(Debug)]
    struct Place(&'static str);

    impl Calendar for Place {
        fn name(&self) -> &str {
            self.0
        }

        fn period_at(&self, _: Per, time: Time) -> Period {
            Period::new(Time::EPOCH, time + Span::from_secs(1)).unwrap()
        }
    }

    fn in_place(limit: &Limit, name: &'static str) -> Limit {
        limit.clone().in_calendar(Arc::new(Place(name)))
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
    fn what_knows_no_calendar_ignores_it() {
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
