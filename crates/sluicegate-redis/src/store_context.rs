//! The context of a store: what all its servers use.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock::StoreClock;
use crate::deny_cache::DenyCache;
use crate::error::ServerError;
use crate::event::Event;
use crate::options::OnEvent;
use crate::passed_over_warning::PassedOverWarning;
use crate::pending_charges::PendingCharges;
use crate::script::KeySpace;
use crate::stats::StatCounters;

/// Interval between two readings of a test clock.
const LOOK: Duration = Duration::from_millis(1);

/// The clock, key space, caches and counters shared by a store's servers.
pub(crate) struct StoreContext {
    pub(crate) runtime: Handle,
    pub(crate) deadline: Duration,
    pub(crate) clock: StoreClock,
    pub(crate) counters: StatCounters,
    pub(crate) key_space: KeySpace,
    pub(crate) deny_cache: DenyCache,
    pub(crate) pending: PendingCharges,
    /// The number of nodes until a server reports it.
    pub(crate) nodes: u32,
    pub(crate) on_event: Option<OnEvent>,
    /// Whether a replica can replace a server.
    pub(crate) has_replicas: bool,
    /// Notified when the slot map of a cluster may be outdated.
    pub(crate) map_stale: Notify,
    /// Number of server clients that were created.
    pub(crate) server_ids: AtomicU32,
    pub(crate) passed_over: PassedOverWarning,
    /// The instant that represents 1970 where a test clock drives the process.
    pub(crate) origin: Instant,
}

impl StoreContext {
    /// Returns a number that no other server client of this store has.
    pub(crate) fn next_server_id(&self) -> u32 {
        self.server_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// The current instant, for comparison with deadlines.
    pub(crate) fn now(&self) -> Instant {
        match self.clock.of_process() {
            Some(time) => self.origin + Duration::from_micros(time.as_micros()),
            None => Instant::now(),
        }
    }

    /// Waits until a deadline.
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

    /// A timer on the caller's runtime, because the store's may be blocked; on the store's if the
    /// caller has none.
    fn timer(&self, until: Instant) -> Sleep {
        let own = Handle::try_current().unwrap_or_else(|_| self.runtime.clone());
        let _within = own.enter();
        sleep_until(until)
    }

    /// That many deadlines from now, or earlier if the caller stops waiting.
    pub(crate) fn until(&self, deadlines: u32, within: Option<Instant>) -> Instant {
        let until = self.now() + self.deadline * deadlines;
        within.map_or(until, |within| within.min(until))
    }

    /// One deadline from now, or earlier: for waits that no call to a server bounds.
    pub(crate) fn soon(&self, until: Instant) -> Instant {
        until.min(self.now() + self.deadline)
    }

    /// Returns the output of a future, or `None` at the deadline.
    pub(crate) async fn in_time<F: Future>(&self, until: Instant, doing: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = doing => Some(done),
            () = self.wait_until(until) => None,
        }
    }

    pub(crate) fn emit(&self, event: &Event) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }

    /// Emits the warning about decisions without an available store, if one is due.
    pub(crate) fn warn_if_passed_over(&self) {
        if let Some((decisions, why)) = self.passed_over.take_due(Instant::now()) {
            self.emit(&Event::PassedOver { decisions, why });
        }
    }

    pub(crate) fn count(&self, failure: &ServerError) {
        if let Some(counter) = failure.class.counter(&self.counters) {
            counter.one();
        }
    }
}

impl std::fmt::Debug for StoreContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreContext").field("key_space", &self.key_space).finish_non_exhaustive()
    }
}
