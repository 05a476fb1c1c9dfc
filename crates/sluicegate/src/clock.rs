//! The only place that reads a clock.

mod dial;
mod follower;
mod line;
mod machine;
#[cfg(feature = "test-clock")]
mod test_clock;
mod ticks;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use sluicegate_core::{Span, Time};

use self::dial::Dial;
use self::machine::ThisMachine;

/// The time that a test has set for this process, if any.
///
/// Builds without the feature `test-clock` have none.
#[doc(hidden)]
#[inline]
pub fn test_time() -> Option<Time> {
    #[cfg(feature = "test-clock")]
    return test_clock::time();
    #[cfg(not(feature = "test-clock"))]
    None
}

/// A future that is ready at a certain time.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What time it is, and how to wait for another one.
pub trait Clock: Send + Sync + 'static {
    /// The time now. Never earlier than it said before in the same thread; two threads that
    /// ask within a microsecond of each other may be told in either order.
    fn now(&self) -> Time;

    /// Ready once it is `time`.
    fn sleep_until(&self, time: Time) -> Sleep;
}

/// The machine's clock: the wall's time when it was made, moved on by the monotonic clock.
///
/// Setting the wall clock afterwards changes nothing: nobody is refilled or locked out.
///
/// On x86-64 under Linux, where kernel and processor vouch for the processor's time-stamp
/// counter, time is read off that counter and kept within microseconds of the monotonic clock:
/// asking that one took twice as long. Everywhere else it is the monotonic clock itself.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Time,
    /// The process' time then, in nanoseconds.
    since: u64,
}

/// One for the process, so that a clock is two numbers and is made without further ado.
static DIAL: Dial<ThisMachine> = Dial::new(ThisMachine);

impl SystemClock {
    /// Starts with the wall clock's time.
    #[allow(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { started: Time::EPOCH + wall.into(), since: DIAL.nanos() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Time {
        if let Some(time) = test_time() {
            return time;
        }
        // Whole microseconds that have passed: a moment counts once it is over.
        let micros = DIAL.nanos().saturating_sub(self.since) / 1_000;
        Time::from_micros((self.started + Span::from_micros(micros)).as_micros())
    }

    fn sleep_until(&self, time: Time) -> Sleep {
        let clock = *self;
        Box::pin(async move {
            // A timer may fire a moment early; the clock has the last word.
            while clock.now() < time {
                let left = match test_time() {
                    // A test may move the clock at any moment.
                    Some(_) => Duration::from_millis(1),
                    None => Duration::from(time.since(clock.now())),
                };
                futures_timer::Delay::new(left).await;
            }
        })
    }
}

/// A clock that is moved by hand, so that tests never sleep.
///
/// Clones tell the same time.
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Check, Limit, Limiter, ManualClock, Memory};
///
/// let clock = ManualClock::default();
/// let limiter = Limiter::new(Memory::with_clock(clock.clone()));
/// let limit = Limit::token_bucket("api", "1/min".parse()?)?;
///
/// assert!(limiter.check(Check::new(&limit, "user:42")).now()?.is_allowed());
/// assert!(!limiter.check(Check::new(&limit, "user:42")).now()?.is_allowed());
/// clock.advance(Duration::from_secs(60));
/// assert!(limiter.check(Check::new(&limit, "user:42")).now()?.is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    hands: Arc<Mutex<Hands>>,
}

#[derive(Debug)]
struct Hands {
    now: Time,
    sleepers: BTreeMap<(Time, u64), Waker>,
    next_sleeper: u64,
}

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Time) -> Self {
        let hands = Hands { now, sleepers: BTreeMap::new(), next_sleeper: 0 };
        Self { hands: Arc::new(Mutex::new(hands)) }
    }

    /// Moves the clock on, waking whoever waited for a time up to the new one.
    pub fn advance(&self, by: Duration) {
        let now = self.now() + by.into();
        self.set(now);
    }

    /// Sets the clock, also back: for tests of just that.
    pub fn set(&self, now: Time) {
        let due = {
            let now = now.min(Time::MAX);
            let mut hands = self.hands();
            hands.now = now;
            let later = hands.sleepers.split_off(&(now + Span::from_micros(1), 0));
            std::mem::replace(&mut hands.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// The earliest time somebody is waiting for: advance to it to let them go on.
    pub fn next_wake(&self) -> Option<Time> {
        self.hands().sleepers.keys().next().map(|(time, _)| *time)
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stands at the start of the year 2026.
impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Time::from_micros(1_767_225_600_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        self.hands().now
    }

    fn sleep_until(&self, time: Time) -> Sleep {
        Box::pin(ManualSleep { clock: self.clone(), time, sleeper: None })
    }
}

struct ManualSleep {
    clock: ManualClock,
    time: Time,
    sleeper: Option<u64>,
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut hands = this.clock.hands();
        if hands.now >= this.time {
            return Poll::Ready(());
        }
        let sleeper = *this.sleeper.get_or_insert_with(|| {
            hands.next_sleeper += 1;
            hands.next_sleeper
        });
        hands.sleepers.insert((this.time, sleeper), context.waker().clone());
        Poll::Pending
    }
}

/// Who gives up waiting is not waited for.
impl Drop for ManualSleep {
    fn drop(&mut self) {
        if let Some(sleeper) = self.sleeper {
            self.clock.hands().sleepers.remove(&(self.time, sleeper));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn no_thread_is_told_an_earlier_time_than_before() {
        let clock = SystemClock::new();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let mut last = clock.started;
                    for _ in 0..200_000 {
                        let now = clock.now();
                        assert!(now >= last, "{now:?} after {last:?}");
                        last = now;
                    }
                });
            }
        });
    }

    #[test]
    fn starts_with_the_wall_s_time_and_goes_on_from_there() {
        let clock = SystemClock { started: Time::from_micros(5), since: DIAL.nanos() };
        while clock.now() <= Time::from_micros(5) {}
        let later = SystemClock { since: DIAL.nanos(), ..clock };
        assert!(later.now() <= clock.now(), "made later, so less time has passed for it");
        let at_the_end = SystemClock { started: Time::MAX, since: 0 };
        assert_eq!(at_the_end.now(), Time::MAX);
    }
}
