//! Tells the servers what nobody waits for: what is given back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate_core::{Ask, Check, Id, Set};
use smallvec::smallvec;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Redis;
use crate::link::Link;
use crate::servers::To;
use crate::twin::Packed;

/// For so long something is told again that may not have been heard.
const WITHIN: Duration = Duration::from_secs(1);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The most that may be on its way to one server: an outage must not take memory without end.
const MOST: usize = 1_024;

/// Something that is on its way.
struct Telling(Arc<Link>);

impl Telling {
    /// Unless there is too much already.
    fn begin(link: Arc<Link>) -> Option<Self> {
        let telling = Self(link);
        let before = telling.0.telling.fetch_add(1, Ordering::Relaxed);
        (before < MOST).then_some(telling)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.telling.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Redis {
    /// Tells the server of a check something whose answer nobody waits for.
    ///
    /// What is settled under an id, or released, counts once however often it is heard, and so is told
    /// again for a while. Nothing is kept for longer: whatever it was, it comes back by itself.
    /// Whoever wants to know when it was heard can wait for that.
    pub(super) fn tell(&self, check: &Check<'_>, units: u64) -> Option<JoinHandle<()>> {
        let packed = Packed::new(&Set::one(check, Id::from_bits(0)), &self.common.naming);
        let counter = packed.counter(0);
        self.common.seen.forget(counter, self.common.clock.machine());
        let again = matches!(check.asks(), Ask::Settle { .. });
        let slot = self.servers.slot(&self.common, counter);
        let to = To { slot, strict: false };
        let (common, servers) = (Arc::clone(&self.common), Arc::clone(&self.servers));
        let Some(telling) = servers.own_link(slot).and_then(Telling::begin) else {
            common.counters.stranded_units.add(units);
            return None;
        };
        let mut told = Box::pin(async move {
            let _telling = telling;
            let over = common.now() + WITHIN;
            loop {
                match servers.ask(smallvec![packed.clone()], to, over).await {
                    Ok(_) => {
                        common.counters.refunds.one();
                        break;
                    }
                    Err(failure) => {
                        let may = again || !failure.class.leaves_in_doubt();
                        if !may || common.now() + PAUSE >= over {
                            common.counters.stranded_units.add(units);
                            break;
                        }
                    }
                }
                sleep(PAUSE).await;
            }
        });
        // It is posted here and now: whoever asks next is to find it done. Its timers are the store's,
        // as whoever calls may have none.
        let _within = self.common.handle.enter();
        let pending = told.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        pending.then(|| self.common.handle.spawn(told))
    }
}
