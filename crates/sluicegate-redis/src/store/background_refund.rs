//! Sends refunds to the servers in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate_core::{ChargeId, Check, Operation, Set};
use smallvec::smallvec;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Redis;
use crate::script::EncodedSet;
use crate::server_client::ServerClient;
use crate::topology::SetRoute;

/// How long a refund is retried.
const RETRY_FOR: Duration = Duration::from_secs(1);
/// Interval between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The most refunds in flight to one server, so that an outage cannot exhaust the memory.
const MAX_IN_FLIGHT: usize = 1_024;

/// A refund in flight; dropping it frees its place.
struct RefundPermit(Arc<ServerClient>);

impl RefundPermit {
    /// Reserves a place, unless too many refunds are in flight.
    fn acquire(client: Arc<ServerClient>) -> Option<Self> {
        let permit = Self(client);
        let before = permit.0.refunds_in_flight.fetch_add(1, Ordering::Relaxed);
        (before < MAX_IN_FLIGHT).then_some(permit)
    }
}

impl Drop for RefundPermit {
    fn drop(&mut self) {
        self.0.refunds_in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Redis {
    /// Sends an operation to the server of a check without waiting for the answer.
    ///
    /// A settlement is idempotent under its id, and so is a release; both are retried for a while.
    /// They are not kept for longer, because the units return by themselves in time. A caller that
    /// needs completion can await the handle.
    pub(super) fn send_detached(&self, check: &Check<'_>, units: u64) -> Option<JoinHandle<()>> {
        let encoded =
            EncodedSet::new(&Set::one(check, ChargeId::from_bits(0)), &self.context.key_space);
        let counter = encoded.counter(0);
        self.context.deny_cache.forget(counter, self.context.clock.machine());
        let is_idempotent = matches!(check.operation(), Operation::Settle { .. });
        let slot = self.topology.slot(&self.context, counter);
        let to = SetRoute { slot, strict: false };
        let (context, topology) = (Arc::clone(&self.context), Arc::clone(&self.topology));
        let Some(permit) = topology.owned_client(slot).and_then(RefundPermit::acquire) else {
            context.counters.stranded_units.add(units);
            return None;
        };
        let mut refund = Box::pin(async move {
            let _permit = permit;
            let until = context.now() + RETRY_FOR;
            loop {
                match topology.submit(smallvec![encoded.clone()], to, until).await {
                    Ok(_) => {
                        context.counters.refunds.one();
                        break;
                    }
                    Err(failure) => {
                        let may_retry = is_idempotent || !failure.class.may_have_executed();
                        if !may_retry || context.now() + PAUSE >= until {
                            context.counters.stranded_units.add(units);
                            break;
                        }
                    }
                }
                sleep(PAUSE).await;
            }
        });
        // Polled here once, so that the refund is queued before any later request of this caller.
        // The timers are the store's, because the caller may have no runtime.
        let _within = self.context.runtime.enter();
        let pending = refund.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        pending.then(|| self.context.runtime.spawn(refund))
    }
}
