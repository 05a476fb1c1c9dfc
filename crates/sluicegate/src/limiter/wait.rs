//! Waiting for the turn of a check.

use sluicegate_core::{Check, Decision, Limit, Receipt, Refusal, Span};

use crate::clock::Clock;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::store::Store;

/// The retry interval of a limit that returns no time.
const POLL: Span = Span::from_millis(10);

/// Retries until the check is allowed and its delay has passed.
///
/// Gives up when that cannot happen within `patience`.
pub(crate) async fn wait_for_turn<S: Store>(
    limiter: &Limiter<S>,
    check: Check<'_>,
    patience: Span,
) -> Result<Decision, CheckError> {
    let clock = limiter.store().clock();
    let deadline = clock.now() + patience;
    loop {
        let left = deadline.since(clock.now());
        let decision = limiter.run(&check.with_max_delay(left)).await?;
        if decision.is_allowed() {
            hold_back(limiter, check, &decision).await;
            return Ok(decision);
        }
        let Some(pause) = pause_after(&decision, check.limit(), left) else {
            return Ok(decision);
        };
        clock.sleep_until(clock.now() + pause).await;
    }
}

/// Waits for the delay of an admitted check; refunds it if dropped meanwhile.
async fn hold_back<S: Store>(limiter: &Limiter<S>, check: Check<'_>, decision: &Decision) {
    if decision.delay().is_zero() {
        return;
    }
    let mut place = QueueGuard { limiter, check, receipt: decision.receipt().copied() };
    let clock = limiter.store().clock();
    clock.sleep_until(clock.now() + decision.delay()).await;
    place.receipt = None;
}

/// Returns the pause before the next attempt; `None` if no attempt can succeed in time.
fn pause_after(decision: &Decision, limit: &Limit, left: Span) -> Option<Span> {
    let pause = match decision.refusal()? {
        Refusal::Exhausted { retry_after } | Refusal::Blocked { retry_after } => retry_after,
        Refusal::Busy | Refusal::Unreachable if !left.is_zero() => POLL.min(left),
        Refusal::Busy
        | Refusal::Unreachable
        | Refusal::CostAboveLimit
        | Refusal::Spent
        | Refusal::Lost => return None,
    };
    // After the pause comes the delay, which the limit may have set as late as patience allowed.
    (pause + left.min(limit.longest_delay()) <= left).then_some(pause)
}

/// A turn that is refunded on drop unless its receipt is taken out before.
struct QueueGuard<'a, S: Store> {
    limiter: &'a Limiter<S>,
    check: Check<'a>,
    receipt: Option<Receipt>,
}

impl<S: Store> Drop for QueueGuard<'_, S> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.refund_detached(self.check.limit(), self.check.key(), receipt);
        }
    }
}
