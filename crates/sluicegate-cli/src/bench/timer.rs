//! A timer with a resolution of microseconds on Linux and of a millisecond elsewhere.

#[cfg(target_os = "linux")]
pub(super) use self::exact::Timer;
#[cfg(not(target_os = "linux"))]
pub(super) use self::rough::Timer;

#[cfg(target_os = "linux")]
mod exact {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A kernel timer. Those of the Tokio runtime have a resolution of a millisecond.
    #[derive(Debug)]
    pub(crate) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        /// Creates a timer; must be called on a runtime.
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[allow(
                deprecated,
                reason = "the replacement is unsafe, for descriptors that are not owned"
            )]
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            Ok(Self(timer))
        }

        pub(crate) async fn wait_until(&mut self, moment: Instant) -> io::Result<()> {
            let Some(left) = moment.checked_duration_since(Instant::now()) else { return Ok(()) };
            let time = Itimerspec {
                it_interval: Timespec::default(),
                it_value: left.try_into().map_err(io::Error::other)?,
            };
            // Setting the timer clears an earlier expiration, so that it need not be read. A time
            // of 0 would disarm it, but then `moment` has passed and the loop below does not wait.
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &time)?;
            while Instant::now() < moment {
                self.0.readable().await?.clear_ready();
            }
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod rough {
    use std::io;
    use std::time::Instant;

    /// A timer of the Tokio runtime.
    #[derive(Debug)]
    pub(crate) struct Timer;

    impl Timer {
        #[allow(clippy::unnecessary_wraps, reason = "kernel timers may fail")]
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        #[allow(clippy::unnecessary_wraps, reason = "kernel timers may fail")]
        pub(crate) async fn wait_until(&mut self, moment: Instant) -> io::Result<()> {
            tokio::time::sleep_until(moment.into()).await;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Timer;

    #[tokio::test]
    async fn is_never_early_and_reusable() {
        let mut timer = Timer::new().unwrap();
        let start = Instant::now();
        for micros in [300, 0, 700, 700, 701, 5_000] {
            let moment = start + Duration::from_micros(micros);
            timer.wait_until(moment).await.unwrap();
            assert!(Instant::now() >= moment, "{micros}");
        }
    }

    #[tokio::test]
    async fn many_timers_run_concurrently() {
        let start = Instant::now();
        let mut waiting = tokio::task::JoinSet::new();
        for number in 0..50_u64 {
            waiting.spawn(async move {
                let mut timer = Timer::new().unwrap();
                for round in 0..10 {
                    let moment = start + Duration::from_micros(number * 7 + round * 400);
                    timer.wait_until(moment).await.unwrap();
                    assert!(Instant::now() >= moment, "{number} {round}");
                }
            });
        }
        while let Some(done) = waiting.join_next().await {
            done.unwrap();
        }
    }
}
