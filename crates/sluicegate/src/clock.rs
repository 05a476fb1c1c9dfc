//! Clocks; the only module that reads one.

mod cycle_counter;
#[cfg(feature = "test-clock")]
mod file_clock;
mod thread_clock;
mod time_source;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use sluicegate_core::{Span, Time};

use self::thread_clock::ThreadClock;
use self::time_source::OsTimeSource;

/// Returns the time that a test has set for this process, if any.
///
/// Builds without the feature `test-clock` have none.
#[doc(hidden)]
#[inline]
pub fn test_time() -> Option<Time> {
    #[cfg(feature = "test-clock")]
    return file_clock::time();
    #[cfg(not(feature = "test-clock"))]
    None
}

/// A future that completes at a certain time.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A source of the current time, with a timer.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    ///
    /// Never earlier than a previous result in the same thread. The results of two threads that
    /// call it within a microsecond of each other may be in either order.
    fn now(&self) -> Time;

    /// Completes at `time`.
    fn sleep_until(&self, time: Time) -> Sleep;
}

/// The system clock: the wall-clock time at its creation, advanced by the monotonic clock.
///
/// Setting the wall clock afterwards has no effect, so it neither refills nor locks out any
/// caller.
///
/// On x86-64 under Linux, if the kernel trusts the processor's time-stamp counter, each thread
/// reads the time from that counter, and compares it every few milliseconds with the monotonic
/// clock, which takes twice as long to read. Everywhere else it is the monotonic clock itself.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Time,
    /// The process clock at creation, in nanoseconds.
    since: u64,
}

thread_local! {
    /// One per thread, so that a clock is just two numbers and cheap to create.
    static THREAD_CLOCK: ThreadClock = const { ThreadClock::new() };
}

/// Returns nanoseconds since the start of the process.
#[inline]
fn process_nanos() -> u64 {
    THREAD_CLOCK.with(|clock| clock.nanos(&OsTimeSource))
}

impl SystemClock {
    /// Creates a clock that starts with the wall-clock time.
    #[allow(clippy::disallowed_methods, reason = "this is where time comes from")]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { started: Time::EPOCH + wall.into(), since: process_nanos() }
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
        // Rounds down to whole microseconds that have passed.
        let micros = process_nanos().saturating_sub(self.since) / 1_000;
        Time::from_micros((self.started + Span::from_micros(micros)).as_micros())
    }

    fn sleep_until(&self, time: Time) -> Sleep {
        let clock = *self;
        Box::pin(async move {
            // A timer may fire slightly early; the clock decides.
            while clock.now() < time {
                let left = match test_time() {
                    // A test may set the clock at any time.
                    Some(_) => Duration::from_millis(1),
                    None => Duration::from(time.since(clock.now())),
                };
                futures_timer::Delay::new(left).await;
            }
        })
    }
}

/// A clock that is advanced by hand, so that tests never sleep.
///
/// Clones share their time.
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
    state: Arc<Mutex<ManualState>>,
}

#[derive(Debug)]
struct ManualState {
    now: Time,
    sleepers: BTreeMap<(Time, u64), Waker>,
    next_sleeper: u64,
}

impl ManualClock {
    /// Creates a clock that is set to `now`.
    pub fn at(now: Time) -> Self {
        let state = ManualState { now, sleepers: BTreeMap::new(), next_sleeper: 0 };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Advances the clock and wakes all waiters up to the new time.
    pub fn advance(&self, by: Duration) {
        let now = self.now() + by.into();
        self.set(now);
    }

    /// Sets the clock, possibly back, for tests of exactly that.
    pub fn set(&self, now: Time) {
        let due = {
            let now = now.min(Time::MAX);
            let mut state = self.state();
            state.now = now;
            let later = state.sleepers.split_off(&(now + Span::from_micros(1), 0));
            std::mem::replace(&mut state.sleepers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Returns the earliest time that is waited for.
    pub fn next_wake(&self) -> Option<Time> {
        self.state().sleepers.keys().next().map(|(time, _)| *time)
    }

    fn state(&self) -> MutexGuard<'_, ManualState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts at the beginning of the year 2026.
impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Time::from_micros(1_767_225_600_000_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        self.state().now
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
        let mut state = this.clock.state();
        if state.now >= this.time {
            return Poll::Ready(());
        }
        let sleeper = *this.sleeper.get_or_insert_with(|| {
            state.next_sleeper += 1;
            state.next_sleeper
        });
        state.sleepers.insert((this.time, sleeper), context.waker().clone());
        Poll::Pending
    }
}

/// Removes the waiter of a cancelled wait.
impl Drop for ManualSleep {
    fn drop(&mut self) {
        if let Some(sleeper) = self.sleeper {
            self.clock.state().sleepers.remove(&(self.time, sleeper));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn time_never_goes_back_within_a_thread() {
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
    fn two_threads_agree_within_two_microseconds() {
        let clock = SystemClock::new();
        let published = std::sync::atomic::AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..500_000 {
                        let earlier = published.load(std::sync::atomic::Ordering::Acquire);
                        let now = clock.now().as_micros();
                        assert!(now + 2 >= earlier, "{now} after {earlier}");
                        published.store(now, std::sync::atomic::Ordering::Release);
                    }
                });
            }
        });
    }

    #[test]
    fn starts_with_the_wall_clock_and_advances() {
        let clock = SystemClock { started: Time::from_micros(5), since: process_nanos() };
        while clock.now() <= Time::from_micros(5) {}
        let later = SystemClock { since: process_nanos(), ..clock };
        assert!(later.now() <= clock.now(), "made later, so less time has passed for it");
        let at_the_end = SystemClock { started: Time::MAX, since: 0 };
        assert_eq!(at_the_end.now(), Time::MAX);
    }
}
