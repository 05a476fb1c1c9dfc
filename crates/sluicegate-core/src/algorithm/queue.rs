//! The leaky bucket as a queue: an admitted request is delayed until its turn.
//!
//! A place lasts `period / amount`; `burst` requests may be waiting, and one more is on its way
//! out. The state is the time at which the queue is empty; a request leaves at that time and
//! advances it by its own cost. The output rate is constant.
//!
//! ```text
//! used  = max(empty_at, now) - now           the queue ahead of this request
//! level = used + (already + cost) * place    the queue including it
//! allowed  <=>  level <= (burst + 1) * place
//! delay     =   ceil(used + already * place)
//! ```
//!
//! `1/s burst 2` (a place lasts 1 s, room for 3), starting vacant:
//!
//! | now | used | level | answer | delay | remaining |
//! |---|---|---|---|---|---|
//! | 0.0 s | 0 | 1 | allowed | 0 | 2 |
//! | 0.0 s | 1 | 2 | allowed | 1 s | 1 |
//! | 0.0 s | 2 | 3 | allowed | 2 s | 0 |
//! | 0.5 s | 2.5 | 3.5 | refused, retry after 0.5 s | | 0 |
//! | 1.0 s | 2 | 3 | allowed | 2 s | 0 |

use crate::algorithm::bucket::Bucket;
use crate::algorithm::{EvalContext, Evaluator};
use crate::decision::{Decision, Refusal};
use crate::exact_time::ExactTime;
use crate::operation::Take;
use crate::receipt::Receipt;
use crate::state::State;
use crate::time::{Span, Time};

/// A bucket with one place more than the number of requests that may wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queue(pub(crate) Bucket);

impl Queue {
    /// Returns the delay of the last request in a full queue.
    pub(crate) fn longest_delay(&self) -> Span {
        self.0.level::<true>(ExactTime::default(), self.0.capacity() - 1).ceil_span()
    }
}

impl Evaluator for Queue {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        self.0.repair(state, context);
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        let used = self.0.used::<true>(state, context.now);
        let ahead = self.0.level::<true>(used, already);
        let asked = take.least.saturating_add(already);
        // The set's earlier takes are queued ahead of this one, now and on every retry.
        let at_best = self.0.level::<true>(ExactTime::default(), already).ceil_span();
        if asked > self.0.capacity() || take.patience.is_some_and(|patience| at_best > patience) {
            return self.0.usage::<true>(ahead).refused(Refusal::CostAboveLimit);
        }
        let delay = ahead.ceil_span();
        let impatience = delay - take.patience.unwrap_or(delay);
        let retry_after =
            self.0.wait_for::<true>(self.0.level::<true>(used, asked)).max(impatience);
        if retry_after > Span::ZERO {
            return self.0.usage::<true>(ahead).refused(Refusal::Exhausted { retry_after });
        }
        let granted = self.0.grant::<true>(used, take, already);
        self.0.usage::<true>(self.0.level::<true>(used, already + granted)).allowed(granted, delay)
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        self.0.chargeable(state, context, units)
    }

    /// The receipt contains the end of the queue, which identifies the last request in it.
    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        let receipt = self.0.charge(state, context, units)?;
        match *state {
            State::Bucket { full_at, parts } => {
                Some(Receipt { until: full_at, until_parts: parts, ..receipt })
            }
            _ => Some(receipt),
        }
    }

    /// Refunds only the last request in the queue.
    ///
    /// The places behind any other request are already promised; reusing its place would send two
    /// requests at the same time.
    fn refund_receipt(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let last = matches!(*state, State::Bucket { full_at, parts }
            if full_at.is_same(parts, receipt.until, receipt.until_parts));
        if last { self.0.refund_receipt(state, context, receipt, units) } else { 0 }
    }

    /// Refunds from the end of the queue.
    ///
    /// Without a receipt the caller cannot show which places it gives up, so the last ones are
    /// assumed.
    fn refund(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> u64 {
        self.0.refund(state, context, units)
    }

    fn recovered_at(&self, state: &State) -> Time {
        self.0.recovered_at(state)
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        self.0.share_used(state, now)
    }
}
