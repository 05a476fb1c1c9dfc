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
use crate::seen::Seen;
use crate::twin::Naming;

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
}

impl Common {
    /// A number that no other link of this store has.
    pub(crate) fn next_link(&self) -> u32 {
        self.links.fetch_add(1, Ordering::Relaxed)
    }

    /// A timer of whoever waits: the store's runtime may be standing still. Only who waits outside of
    /// any has to rely on that.
    pub(crate) fn timer(&self, until: Instant) -> Sleep {
        let own = Handle::try_current().unwrap_or_else(|_| self.handle.clone());
        let _within = own.enter();
        sleep_until(until)
    }

    /// What comes of something, if it comes in time.
    pub(crate) async fn in_time<F: Future>(&self, until: Instant, doing: F) -> Option<F::Output> {
        let over = self.timer(until);
        tokio::select! {
            biased;
            done = doing => Some(done),
            () = over => None,
        }
    }

    pub(crate) fn tell(&self, event: &Event) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
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
