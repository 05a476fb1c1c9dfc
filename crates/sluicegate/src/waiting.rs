//! Waiting for the turn of a check.

use sluicegate_core::{Check, Decision, Limit, Receipt, Refusal, Span};

use crate::clock::Clock;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::store::Store;

/// How often a limit that cannot say when is asked again.
const POLL: Span = Span::from_millis(10);

/// Asks, and asks again, until the check is allowed and its delay has passed, or until that
/// cannot happen within `patience` any more.
pub(crate) async fn wait_for_turn<S: Store>(
    limiter: &Limiter<S>,
    check: Check<'_>,
    patience: Span,
) -> Result<Decision, CheckError> {
    let clock = limiter.store().clock();
    let deadline = clock.now() + patience;
    loop {
        let left = deadline.since(clock.now());
        let decision = limiter.ask(&check.patient(left)).await?;
        if decision.is_allowed() {
            sit_out(limiter, check, &decision).await;
            return Ok(decision);
        }
        let Some(pause) = pause_after(&decision, check.limit(), left) else {
            return Ok(decision);
        };
        clock.sleep_until(clock.now() + pause).await;
    }
}

/// Waits as long as an admitted check has to be held back; gives it back if dropped meanwhile.
async fn sit_out<S: Store>(limiter: &Limiter<S>, check: Check<'_>, decision: &Decision) {
    if decision.delay().is_zero() {
        return;
    }
    let mut place = Place { limiter, check, receipt: decision.receipt().copied() };
    let clock = limiter.store().clock();
    clock.sleep_until(clock.now() + decision.delay()).await;
    place.receipt = None;
}

/// How long to pause before asking again; `None` if that would be in vain.
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
    // After the pause comes the delay that the limit promised as late as patience allowed.
    (pause + left.min(limit.longest_delay()) <= left).then_some(pause)
}

/// A place in line that is given back unless its receipt is taken out in time.
struct Place<'a, S: Store> {
    limiter: &'a Limiter<S>,
    check: Check<'a>,
    receipt: Option<Receipt>,
}

impl<S: Store> Drop for Place<'_, S> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.give_back(self.check.limit(), self.check.key(), receipt);
        }
    }
}
