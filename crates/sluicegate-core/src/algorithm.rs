//! The interface of every algorithm: repair, evaluate, charge, refund.

pub(crate) mod bucket;
pub(crate) mod concurrency;
pub(crate) mod cooldown;
pub(crate) mod fixed_window;
pub(crate) mod queue;
pub(crate) mod sliding_log;
pub(crate) mod sliding_window;
mod timestamps;

use crate::decision::{Answer, Decision, Refusal};
use crate::operation::Take;
use crate::receipt::{ChargeId, Receipt};
use crate::set::Set;
use crate::state::State;
use crate::time::{Period, Span, Time};

/// The time, the set and the index that a check is evaluated with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvalContext<'a> {
    pub(crate) now: Time,
    pub(crate) set: &'a Set<'a>,
    /// Index of the check within the set.
    pub(crate) index: usize,
}

impl EvalContext<'_> {
    /// Returns the calendar window that came with the check.
    fn period(&self) -> Option<Period> {
        self.set.checks[self.index].period()
    }

    /// Returns the id of this check's charge.
    pub(crate) fn id(&self) -> ChargeId {
        self.set.id.of_check(self.index)
    }
}

/// One algorithm with its quota.
///
/// `evaluate` never writes: a refusal leaves every counter as it was. The only unconditional write
/// is [`repair`](Evaluator::repair), for state that no correct clock can have produced.
pub(crate) trait Evaluator {
    /// Returns the capacity in units.
    fn capacity(&self) -> u64;

    /// Repairs state that no correct clock or no such algorithm can have written.
    ///
    /// State further ahead than a full recovery (the clock was set back), or left behind by
    /// another algorithm, becomes "exhausted now".
    fn repair(&self, state: &mut State, context: &EvalContext<'_>);

    /// Evaluates a take, with `already` units staged on this cell by the same set.
    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision;

    /// Returns how many of these units can be charged unconditionally.
    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64;

    /// Writes a charge that was evaluated or is within `chargeable`.
    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt>;

    /// Writes a granted take; differs from `charge` only for cooldowns with pending attempts.
    fn charge_take(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        units: u64,
    ) -> Option<Receipt> {
        self.charge(state, context, units)
    }

    /// Refunds up to `units` of a receipt's remaining value; returns the units refunded.
    fn refund_receipt(&self, _: &mut State, _: &EvalContext<'_>, _: &Receipt, _units: u64) -> u64 {
        0
    }

    /// Refunds up to `units` of the current usage, newest first; returns the units refunded.
    fn refund(&self, _: &mut State, _: &EvalContext<'_>, _units: u64) -> u64 {
        0
    }

    /// Returns how many units can be charged on top of those staged by the set.
    fn chargeable_beside(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        units: u64,
        staged: u64,
    ) -> u64 {
        self.chargeable(state, context, units.saturating_add(staged)).saturating_sub(staged)
    }

    /// Corrects the charge of a receipt to `actual` units; returns the resulting units.
    ///
    /// `None` if the charge was a hold that no longer exists.
    fn settle(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        actual: u64,
        staged: u64,
    ) -> Option<u64> {
        if actual > receipt.units {
            let more = self.chargeable_beside(state, context, actual - receipt.units, staged);
            if more > 0 {
                self.charge(state, context, more);
            }
            return Some(receipt.units + more);
        }
        if context.now >= receipt.until() {
            return Some(receipt.units);
        }
        Some(receipt.units - self.refund_receipt(state, context, receipt, receipt.units - actual))
    }

    /// Returns the time from which the state is equivalent to vacant.
    fn recovered_at(&self, state: &State) -> Time;

    /// Returns the used share of a state that is not vacant, as if just repaired.
    ///
    /// See [`Limit::share_used`](crate::Limit::share_used).
    fn share_used(&self, state: &State, now: Time) -> u16;
}

/// The share of a counter with no units left.
const EXHAUSTED: u16 = u16::MAX;

/// Returns `used / whole` scaled to 16 bits, rounded up so that any use shows.
fn share(used: u128, whole: u128) -> u16 {
    if used >= whole {
        return EXHAUSTED;
    }
    u16::try_from((used * u128::from(EXHAUSTED)).div_ceil(whole)).unwrap_or(EXHAUSTED)
}

/// The usage of a counter after a decision.
#[derive(Debug, Clone, Copy)]
struct Usage {
    limit: u64,
    remaining: u64,
    reset_after: Span,
}

impl Usage {
    fn allowed(self, granted: u64, delay: Span) -> Decision {
        self.decision(Answer::Allowed { delay }, granted)
    }

    fn refused(self, refusal: Refusal) -> Decision {
        self.decision(Answer::Refused(refusal), 0)
    }

    fn decision(self, answer: Answer, granted: u64) -> Decision {
        let Self { limit, remaining, reset_after } = self;
        Decision { answer, granted, limit, remaining, reset_after, receipt: None }
    }
}
