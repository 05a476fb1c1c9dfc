//! The server's clock, as followed by this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use sluicegate::{Clock, ManualClock, Sleep, SystemClock, test_time};
use sluicegate_core::{Span, Time};

/// The server's clock, as followed by this process: the last time it reported, advanced by this
/// machine's monotonic clock. Before the first report it is this machine's clock.
///
/// Decisions are made at the server's own time. This clock only selects the calendar window to try
/// first, and times waits; if it is wrong, that costs another round trip, not a wrong answer.
#[derive(Debug, Clone)]
pub struct StoreClock(ClockKind);

#[derive(Debug, Clone)]
enum ClockKind {
    Followed(Arc<ServerClock>),
    Driven(ManualClock),
}

#[derive(Debug)]
struct ServerClock {
    /// Only used for differences, so setting the wall clock has no effect.
    machine: SystemClock,
    /// The server's time less the machine's, in microseconds.
    ahead: AtomicI64,
    last: AtomicU64,
}

/// A clock that goes back by more than this has been set, and is followed.
const STEP: Span = Span::CLOCK_SLACK;

impl StoreClock {
    pub(crate) fn new(driven: Option<ManualClock>) -> Self {
        Self(match driven {
            Some(clock) => ClockKind::Driven(clock),
            None => ClockKind::Followed(Arc::new(ServerClock {
                machine: SystemClock::new(),
                ahead: AtomicI64::new(0),
                last: AtomicU64::new(0),
            })),
        })
    }

    /// The time to pass to scripts, if they must not read the server's clock.
    pub(crate) fn driven(&self) -> Option<Time> {
        match &self.0 {
            ClockKind::Driven(clock) => Some(clock.now()),
            ClockKind::Followed(_) => test_time(),
        }
    }

    /// The time for deadlines where a test drives the whole process.
    pub(crate) fn of_process(&self) -> Option<Time> {
        match &self.0 {
            ClockKind::Driven(_) => None,
            ClockKind::Followed(_) => test_time(),
        }
    }

    /// This process's monotonic time.
    pub(crate) fn machine(&self) -> Time {
        match &self.0 {
            ClockKind::Driven(clock) => clock.now(),
            ClockKind::Followed(followed) => followed.machine.now(),
        }
    }

    /// Follows the server's `time`, from an answer that arrived at `received` here.
    pub(crate) fn observe(&self, time: Time, received: Time) {
        if let (ClockKind::Followed(followed), None) = (&self.0, self.driven()) {
            followed.ahead.store(difference(time, received), Ordering::Relaxed);
        }
    }

    /// How far the server's clock is ahead of the machine's, in microseconds.
    pub(crate) fn ahead(&self) -> i64 {
        match &self.0 {
            ClockKind::Driven(_) => 0,
            ClockKind::Followed(followed) => followed.ahead.load(Ordering::Relaxed),
        }
    }
}

fn difference(time: Time, other: Time) -> i64 {
    time.as_micros().cast_signed() - other.as_micros().cast_signed()
}

impl Clock for StoreClock {
    fn now(&self) -> Time {
        let followed = match (&self.0, self.driven()) {
            (_, Some(time)) => return time,
            (ClockKind::Driven(clock), None) => return clock.now(),
            (ClockKind::Followed(followed), None) => followed,
        };
        let machine = followed.machine.now().as_micros();
        let ahead = followed.ahead.load(Ordering::Relaxed);
        let now = Time::from_micros(machine.saturating_add_signed(ahead));
        // An answer may have taken longer than the one before, which is no reason to go back.
        let last = Time::from_micros(followed.last.fetch_max(now.as_micros(), Ordering::Relaxed));
        if last.since(now) > STEP {
            followed.last.store(now.as_micros(), Ordering::Relaxed);
            return now;
        }
        last.max(now)
    }

    fn sleep_until(&self, time: Time) -> Sleep {
        match &self.0 {
            ClockKind::Driven(clock) => clock.sleep_until(time),
            ClockKind::Followed(followed) => {
                let wait = time.since(self.now());
                followed.machine.sleep_until(followed.machine.now() + wait)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_server_and_does_not_go_back_by_a_little() {
        let clock = StoreClock::new(None);
        let machine = clock.machine();
        clock.observe(machine + Span::from_secs(3_600), machine);
        assert_eq!(clock.ahead(), 3_600_000_000);
        let last = clock.now();
        assert!(last >= machine + Span::from_secs(3_600));
        clock.observe(machine + Span::from_millis(3_599_500), machine);
        assert!(clock.now() >= last, "half a second is no step");
        clock.observe(machine, machine);
        assert!(clock.now() < last, "an hour is one");
    }
}
