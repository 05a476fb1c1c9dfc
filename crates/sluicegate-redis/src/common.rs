//! What all servers of a store have in common.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock::StoreClock;
use crate::counts::Counters;
use crate::event::Event;
use crate::failure::Failure;
use crate::options::OnEvent;
use crate::owed::Owed;
use crate::passed_over::PassedOver;
use crate::seen::Seen;
use crate::twin::Naming;

/// Between two looks at a clock that a test drives.
const LOOK: Duration = Duration::from_millis(1);

/// What all servers of a store have in common.
pub(crate) struct Common {
    pub(crate) handle: Handle,
    pub(crate) deadline: Duration,
    pub(crate) clock: StoreClock,
    pub(crate) counters: Counters,
    pub(crate) naming: Naming,
    pub(crate) seen: Seen,
    pub(crate) owed: Owed,
    /// How many nodes there are, until a server has told.
    pub(crate) nodes: u32,
    pub(crate) on_event: Option<OnEvent>,
    /// Whether another server may take the place of one.
    pub(crate) has_replicas: bool,
    /// Told when the map of a cluster may be wrong.
    pub(crate) doubted: Notify,
    /// How many links there have been.
    pub(crate) links: AtomicU32,
    pub(crate) passed_over: PassedOver,
    /// The moment that stands for 1970 where a test drives the process.
    pub(crate) origin: Instant,
}

impl Common {
    /// A number that no other link of this store has.
    pub(crate) fn next_link(&self) -> u32 {
        self.links.fetch_add(1, Ordering::Relaxed)
    }

    /// The moment that deadlines are compared with.
    pub(crate) fn now(&self) -> Instant {
        match self.clock.of_process() {
            Some(time) => self.origin + Duration::from_micros(time.as_micros()),
            None => Instant::now(),
        }
    }

    /// Waits until a deadline has come.
    pub(crate) async fn wait_until(&self, until: Instant) {
        loop {
            let driven = self.clock.of_process().is_some();
            // A test may move the clock at any moment.
            let look = if driven { Instant::now() + LOOK } else { until };
            self.timer(look).await;
            if !driven || self.now() >= until {
                return;
            }
        }
    }

    /// A timer of the caller's runtime: that of the store may be standing still. A caller without a
    /// runtime has to rely on it.
    fn timer(&self, until: Instant) -> Sleep {
        let own = Handle::try_current().unwrap_or_else(|_| self.handle.clone());
        let _within = own.enter();
        sleep_until(until)
    }

    /// So many deadlines from now, or when the caller waits no longer.
    pub(crate) fn until(&self, deadlines: u32, within: Option<Instant>) -> Instant {
        let until = self.now() + self.deadline * deadlines;
        within.map_or(until, |within| within.min(until))
    }

    /// One deadline from now, or earlier: for waits that no call to a server bounds.
    pub(crate) fn soon(&self, until: Instant) -> Instant {
        until.min(self.now() + self.deadline)
    }

    /// What comes of something, if it comes in time.
    pub(crate) async fn in_time<F: Future>(&self, until: Instant, doing: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = doing => Some(done),
            () = self.wait_until(until) => None,
        }
    }

    pub(crate) fn tell(&self, event: &Event) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }

    /// Warns about decisions that were made without a store that answers, if any were lately.
    pub(crate) fn warn_if_passed_over(&self) {
        if let Some((decisions, why)) = self.passed_over.take_due(Instant::now()) {
            self.tell(&Event::PassedOver { decisions, why });
        }
    }

    pub(crate) fn count(&self, failure: &Failure) {
        if let Some(counter) = failure.class.counter(&self.counters) {
            counter.one();
        }
    }
}

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common").field("naming", &self.naming).finish_non_exhaustive()
    }
}
