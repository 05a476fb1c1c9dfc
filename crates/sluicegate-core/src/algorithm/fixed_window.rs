//! The fixed window: a number of units per calendar period.
//!
//! The period comes with the check.
//!
//! ```text
//! allowed  <=>  count + already + cost <= amount
//! retry_after = end of the window - now
//! ```
//!
//! Known weakness: the whole amount can be used at the end of one window and again at the start of
//! the next, which is twice the amount within a short time.
//!
//! `2/min`, in the minute that starts at 60 s:
//!
//! | now | window | count | answer | remaining | retry after |
//! |---|---|---|---|---|---|
//! | 70 s | 60 to 120 s | 0 | allowed | 1 | |
//! | 110 s | 60 to 120 s | 1 | allowed | 0 | |
//! | 115 s | 60 to 120 s | 2 | refused | 0 | 5 s |
//! | 120 s | 120 to 180 s | 0 | allowed | 1 | |
//! | 119.9 s (clock set back) | 120 to 180 s | 1 | allowed | 0 | |

use crate::algorithm::{EXHAUSTED, EvalContext, Evaluator, Usage, share};
use crate::decision::{Decision, Refusal};
use crate::exact_time::ExactTime;
use crate::operation::Take;
use crate::quota::Per;
use crate::receipt::Receipt;
use crate::state::State;
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixedWindow {
    pub(crate) amount: u64,
    /// The limit of unconditional charges.
    pub(crate) deepest: u64,
    /// The calendar period.
    pub(crate) per: Per,
}

/// The current window and the units used in it.
#[derive(Clone, Copy)]
struct Window {
    start: Time,
    end: Time,
    count: u64,
}

impl FixedWindow {
    fn read(state: &State, context: &EvalContext<'_>) -> Window {
        let (start, end) =
            context.period().map_or((context.now, context.now), |p| (p.start(), p.end()));
        match *state {
            // Also a window that has not begun yet: time does not go back for it.
            State::Window { start, end, count } if end > context.now => {
                Window { start, end, count }
            }
            _ => Window { start, end, count: 0 },
        }
    }

    fn usage(&self, window: Window, used: u64, now: Time) -> Usage {
        Usage {
            limit: self.amount,
            remaining: self.amount.saturating_sub(used),
            reset_after: if used == 0 { Span::ZERO } else { window.end.since(now) },
        }
    }
}

impl Evaluator for FixedWindow {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        let Some(period) = context.period() else { return };
        let count = match *state {
            State::Window { start, .. } if start > context.now + Span::CLOCK_SLACK => self.amount,
            // When the period changes under load, the count carries over once: otherwise it would
            // carry over again after the end that callers were given.
            State::Window { start, end, count }
                if start <= context.now && context.now < end && (start, end) != period.bounds() =>
            {
                count
            }
            State::Vacant | State::Window { .. } => return,
            _ => self.amount,
        };
        *state = State::Window { start: period.start(), end: period.end(), count };
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        let window = Self::read(state, context);
        let used = window.count + already;
        let asked = take.least.saturating_add(already);
        if asked > self.amount {
            return self.usage(window, used, context.now).refused(Refusal::CostAboveLimit);
        }
        if window.count + asked > self.amount {
            let retry_after = window.end.since(context.now);
            return self
                .usage(window, used, context.now)
                .refused(Refusal::Exhausted { retry_after });
        }
        let granted = take.most.min(self.amount - used);
        self.usage(window, used + granted, context.now).allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        self.deepest.saturating_sub(Self::read(state, context).count).min(units)
    }

    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        let Window { start, end, count } = Self::read(state, context);
        *state = State::Window { start, end, count: count + units };
        Some(Receipt {
            id: context.id(),
            units,
            at: context.now.max(start),
            until: ExactTime::at(end),
            until_parts: 1,
        })
    }

    /// Refunds only into the window that was charged, while it lasts.
    fn refund_receipt(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let State::Window { start, end, .. } = *state else { return 0 };
        if (start..end).contains(&receipt.at) { self.refund(state, context, units) } else { 0 }
    }

    fn refund(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> u64 {
        let State::Window { end, ref mut count, .. } = *state else { return 0 };
        if end <= context.now {
            return 0;
        }
        let given = units.min(*count);
        *count -= given;
        if *count == 0 {
            *state = State::Vacant;
        }
        given
    }

    fn recovered_at(&self, state: &State) -> Time {
        match *state {
            State::Window { end, .. } => end,
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        match *state {
            State::Window { start, .. } if start > now + Span::CLOCK_SLACK => EXHAUSTED,
            State::Window { end, count, .. } if end > now => {
                share(count.into(), self.amount.into())
            }
            State::Window { .. } => 0,
            _ => EXHAUSTED,
        }
    }
}
