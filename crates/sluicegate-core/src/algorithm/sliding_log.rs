//! The sliding log: an exact limit over any window, by storing each admission.
//!
//! ```text
//! used     = units stamped in (now - window, now]
//! allowed  <=>  used + already + cost <= amount
//! retry_after = when enough of the oldest stamps have left the window
//! ```
//!
//! `2/min`, starting vacant:
//!
//! | now | log before | answer | remaining | retry after |
//! |---|---|---|---|---|
//! | 0 s | | allowed | 1 | |
//! | 50 s | 0 | allowed | 0 | |
//! | 59 s | 0, 50 | refused | 0 | 1 s |
//! | 60 s | 50 (0 just left) | allowed | 0 | |
//! | 61 s | 50, 60 | refused | 0 | 49 s |

use crate::algorithm::{EXHAUSTED, EvalContext, Evaluator, Usage, share, timestamps};
use crate::decision::{Decision, Refusal};
use crate::exact_time::ExactTime;
use crate::operation::Take;
use crate::receipt::Receipt;
use crate::state::{Stamp, State};
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlidingLog {
    pub(crate) amount: u64,
    pub(crate) window: Span,
    /// The limit of unconditional charges.
    pub(crate) deepest: u64,
}

impl SlidingLog {
    fn unexpired<'a>(&self, state: &'a State, now: Time) -> &'a [Stamp] {
        match state {
            State::Log(stamps) => timestamps::unexpired(stamps, now, self.window),
            _ => &[],
        }
    }

    /// Returns whether another algorithm or a clock since set back wrote the state.
    fn is_wrong(state: &State, now: Time) -> bool {
        match state {
            State::Vacant => false,
            State::Log(stamps) => {
                stamps.last().is_some_and(|newest| newest.at > now + Span::CLOCK_SLACK)
            }
            _ => true,
        }
    }

    /// Returns the time until the newest of these stamps leaves the window.
    fn reset_after(&self, live: &[Stamp], now: Time) -> Span {
        live.last().map_or(Span::ZERO, |newest| (newest.at + self.window).since(now))
    }

    fn usage(&self, live: &[Stamp], used: u64, staged: u64, now: Time) -> Usage {
        let mut reset_after = self.reset_after(live, now);
        if staged > 0 {
            reset_after = reset_after.max(self.window);
        }
        Usage { limit: self.amount, remaining: self.amount.saturating_sub(used), reset_after }
    }

    /// Returns the time until `excess` units have left the window.
    fn wait_for(&self, live: &[Stamp], excess: u64, now: Time) -> Span {
        let mut left = 0;
        live.iter()
            .find(|stamp| {
                left += stamp.units;
                left >= excess
            })
            .map_or(self.window, |stamp| (stamp.at + self.window).since(now))
    }
}

impl Evaluator for SlidingLog {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        if Self::is_wrong(state, context.now) {
            *state = State::Log(vec![Stamp { at: context.now, units: self.amount }]);
        }
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        let live = self.unexpired(state, context.now);
        let stamped = timestamps::units(live);
        let used = stamped + already;
        let asked = take.least.saturating_add(already);
        let usage = self.usage(live, used, already, context.now);
        if asked > self.amount {
            return usage.refused(Refusal::CostAboveLimit);
        }
        if stamped + asked > self.amount {
            let retry_after = self.wait_for(live, stamped + asked - self.amount, context.now);
            return usage.refused(Refusal::Exhausted { retry_after });
        }
        let granted = take.most.min(self.amount - used);
        self.usage(live, used + granted, already + granted, context.now)
            .allowed(granted, Span::ZERO)
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        let used = timestamps::units(self.unexpired(state, context.now));
        self.deepest.saturating_sub(used).min(units)
    }

    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        if !matches!(state, State::Log(_)) {
            *state = State::Log(Vec::new());
        }
        let State::Log(log) = state else { return None };
        let at = timestamps::file(log, context.now, self.window, units);
        let until = ExactTime::at(at + self.window);
        Some(Receipt { id: context.id(), units, at, until, until_parts: 1 })
    }

    fn refund_receipt(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let State::Log(log) = state else { return 0 };
        if receipt.at + self.window <= context.now {
            return 0;
        }
        let given = timestamps::remove(log, receipt.at, units);
        if log.is_empty() {
            *state = State::Vacant;
        }
        given
    }

    fn refund(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> u64 {
        let State::Log(log) = state else { return 0 };
        let given = timestamps::remove_newest(log, context.now, self.window, units);
        if log.is_empty() {
            *state = State::Vacant;
        }
        given
    }

    fn recovered_at(&self, state: &State) -> Time {
        match state {
            State::Log(stamps) => {
                stamps.last().map_or(Time::EPOCH, |newest| newest.at + self.window)
            }
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        if Self::is_wrong(state, now) {
            return EXHAUSTED;
        }
        share(timestamps::units(self.unexpired(state, now)).into(), self.amount.into())
    }
}
