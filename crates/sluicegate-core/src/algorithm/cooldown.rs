//! Cooldown: after a number of failures within a time, a block that can escalate.
//!
//! A take checks for a block and uses nothing; a charge reports failures.
//!
//! ```text
//! allowed  <=>  now >= blocked_until
//! on the last failure:  blocked_until = now + block * factor^(streak - 1), at most `max`
//! ```
//!
//! With `pending`, a take is an attempt, which counts as a failure until it is reported or that
//! time has passed. A failure replaces the oldest attempt; a refund reports a success and removes
//! it:
//!
//! ```text
//! allowed  <=>  now >= blocked_until  and  failures + attempts + already + cost <= after
//! ```
//!
//! Three failures within 60 s block for 10 s, doubling up to 30 s:
//!
//! | now | operation | answer | remaining | blocked until | streak |
//! |---|---|---|---|---|---|
//! | 0 s | 2 failures | | 1 | | 0 |
//! | 5 s | 1 failure | | 0 | 15 s | 1 |
//! | 9 s | take | blocked, retry after 6 s | 0 | 15 s | 1 |
//! | 15 s | 3 failures | | 0 | 35 s | 2 |
//! | 95 s | 3 failures | | 0 | 105 s | 1 (the streak ended at 95) |

use crate::algorithm::{EXHAUSTED, EvalContext, Evaluator, Usage, share, timestamps};
use crate::decision::{Decision, Refusal};
use crate::exact_time::ExactTime;
use crate::limit::Cooldown;
use crate::operation::Take;
use crate::receipt::Receipt;
use crate::state::{Cooling, Stamp, State};
use crate::time::{Span, Time};

impl Cooldown {
    fn unexpired<'a>(&self, state: &'a State, now: Time) -> &'a [Stamp] {
        match state {
            State::Cooling(cooling) => timestamps::unexpired(&cooling.failures, now, self.within),
            _ => &[],
        }
    }

    /// Returns the attempts that count.
    fn attempts<'a>(&self, state: &'a State, now: Time) -> &'a [Stamp] {
        match (state, self.pending) {
            (State::Cooling(cooling), Some(pending)) => {
                timestamps::unexpired(&cooling.attempts, now, pending)
            }
            _ => &[],
        }
    }

    /// Evaluates a take where attempts are pending.
    fn evaluate_attempt(&self, state: &State, now: Time, take: Take, already: u64) -> Decision {
        let (failures, attempts) = (self.unexpired(state, now), self.attempts(state, now));
        let pending = self.pending.unwrap_or_default();
        let used = timestamps::units(failures) + timestamps::units(attempts);
        let (forgotten, blocked) =
            (self.recovered_at(state).since(now), Self::blocked_until(state));
        let left = if blocked > now { 0 } else { self.after.saturating_sub(used) };
        let usage = |staged: u64| Usage {
            limit: self.after,
            remaining: left.saturating_sub(staged),
            reset_after: if staged > 0 { forgotten.max(pending) } else { forgotten },
        };
        let asked = take.least.saturating_add(already);
        if asked > self.after {
            return usage(already).refused(Refusal::CostAboveLimit);
        }
        let excess = (used + asked).saturating_sub(self.after);
        if excess > 0 || blocked > now {
            let fits_at = wait_for(excess, ends(failures, self.within), ends(attempts, pending));
            let retry_after = fits_at.max(blocked).since(now);
            return usage(already).refused(if blocked > now {
                Refusal::Blocked { retry_after }
            } else {
                Refusal::Exhausted { retry_after }
            });
        }
        let granted = take.most.min(self.after - used - already);
        usage(already + granted).allowed(granted, Span::ZERO)
    }

    /// Returns the length of the `streak`-th block in a row.
    fn length(&self, streak: u32) -> Span {
        let Some(escalation) = self.escalation else { return self.block };
        let factor = u64::from(escalation.factor).saturating_pow(streak.saturating_sub(1));
        let micros = self.block.as_micros().saturating_mul(factor);
        Span::from_micros(micros).min(escalation.max)
    }

    fn longest(&self) -> Span {
        self.escalation.map_or(self.block, |escalation| escalation.max.max(self.block))
    }

    fn blocked_until(state: &State) -> Time {
        match state {
            State::Cooling(cooling) => cooling.blocked_until,
            _ => Time::EPOCH,
        }
    }

    fn is_from_a_wrong_clock(&self, cooling: &Cooling, now: Time) -> bool {
        let newest_of = |stamps: &[Stamp]| stamps.last().map_or(Time::EPOCH, |newest| newest.at);
        let mut newest = newest_of(&cooling.failures);
        if self.pending.is_some() {
            newest = newest.max(newest_of(&cooling.attempts));
        }
        cooling.blocked_until > now + self.longest() + Span::CLOCK_SLACK
            || newest > now + Span::CLOCK_SLACK
    }

    /// Returns whether earlier blocks make the next one longer.
    fn has_streak(&self, cooling: &Cooling) -> bool {
        self.escalation.is_some() && cooling.streak > 0
    }

    /// Returns when the streak ends: after the last block, for as long again as it lasted.
    fn streak_ends_at(&self, cooling: &Cooling) -> Time {
        cooling.blocked_until + self.within.max(self.length(cooling.streak))
    }
}

impl Cooling {
    /// Returns whether nothing is stored.
    fn is_vacant(&self) -> bool {
        self.failures.is_empty()
            && self.attempts.is_empty()
            && self.blocked_until == Time::EPOCH
            && self.streak == 0
    }
}

/// Returns when the units of each stamp stop counting.
fn ends(stamps: &[Stamp], window: Span) -> impl Iterator<Item = (Time, u64)> {
    stamps.iter().map(move |stamp| (stamp.at + window, stamp.units))
}

/// Returns when this many units have stopped counting, from two time-ordered lists.
fn wait_for(
    excess: u64,
    one: impl Iterator<Item = (Time, u64)>,
    other: impl Iterator<Item = (Time, u64)>,
) -> Time {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    let (mut left, mut end) = (excess, Time::EPOCH);
    while left > 0 {
        let earlier = match (one.peek(), other.peek()) {
            (Some((first, _)), Some((second, _))) if second < first => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        };
        let Some((time, units)) = earlier else { break };
        (left, end) = (left.saturating_sub(units), time);
    }
    end
}

impl Evaluator for Cooldown {
    fn capacity(&self) -> u64 {
        self.after
    }

    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        let now = context.now;
        let wrong = match state {
            State::Vacant => false,
            State::Cooling(cooling) => {
                if self.pending.is_none() && !cooling.attempts.is_empty() {
                    // Left from an earlier configuration with pending attempts.
                    cooling.attempts = Vec::new();
                }
                self.is_from_a_wrong_clock(cooling, now)
            }
            _ => {
                *state = State::Cooling(Box::default());
                true
            }
        };
        if let (true, State::Cooling(cooling)) = (wrong, state) {
            cooling.failures.clear();
            cooling.attempts.clear();
            cooling.blocked_until = now + self.block;
        }
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        if self.pending.is_some() {
            return self.evaluate_attempt(state, context.now, take, already);
        }
        let blocked = Self::blocked_until(state).since(context.now);
        let live = self.unexpired(state, context.now);
        let forgotten = self.recovered_at(state).since(context.now);
        if !blocked.is_zero() {
            let usage =
                Usage { limit: self.after, remaining: 0, reset_after: forgotten.max(blocked) };
            return usage.refused(Refusal::Blocked { retry_after: blocked });
        }
        let remaining = self.after.saturating_sub(timestamps::units(live));
        Usage { limit: self.after, remaining, reset_after: forgotten }
            .allowed(take.most, Span::ZERO)
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        if Self::blocked_until(state) > context.now {
            return 0;
        }
        let failed = timestamps::units(self.unexpired(state, context.now));
        // If the number was lowered below the failures that still count, the next one blocks.
        self.after.saturating_sub(failed).max(1).min(units)
    }

    /// Attempts staged by the set do not count as failures.
    fn chargeable_beside(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        units: u64,
        _: u64,
    ) -> u64 {
        self.chargeable(state, context, units)
    }

    fn charge_take(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        units: u64,
    ) -> Option<Receipt> {
        let pending = self.pending?;
        if !matches!(state, State::Cooling(_)) {
            *state = State::Cooling(Box::default());
        }
        let State::Cooling(cooling) = state else { return None };
        let at = timestamps::file(&mut cooling.attempts, context.now, pending, units);
        let until = ExactTime::at(at + pending);
        Some(Receipt { id: context.id(), units, at, until, until_parts: 1 })
    }

    /// Failures cannot be refunded, so there is no receipt; a reset clears them all.
    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        if !matches!(state, State::Cooling(_)) {
            *state = State::Cooling(Box::default());
        }
        let State::Cooling(cooling) = state else { return None };
        if context.now >= self.streak_ends_at(cooling) {
            cooling.streak = 0;
        }
        if let Some(pending) = self.pending {
            timestamps::prune(&mut cooling.attempts, context.now, pending);
            timestamps::remove_oldest(&mut cooling.attempts, units);
        }
        timestamps::file(&mut cooling.failures, context.now, self.within, units);
        if timestamps::units(&cooling.failures) >= self.after {
            cooling.failures.clear();
            cooling.streak = cooling.streak.saturating_add(1);
            cooling.blocked_until = context.now + self.length(cooling.streak);
        }
        None
    }

    /// Removes an attempt that was not made after all.
    fn refund_receipt(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let (State::Cooling(cooling), Some(pending)) = (&mut *state, self.pending) else {
            return 0;
        };
        if receipt.at + pending <= context.now {
            return 0;
        }
        let given = timestamps::remove(&mut cooling.attempts, receipt.at, units);
        if given > 0 && cooling.is_vacant() {
            *state = State::Vacant;
        }
        given
    }

    /// Reports successes: this many of the oldest attempts do not become failures.
    fn refund(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> u64 {
        let State::Cooling(cooling) = state else { return 0 };
        if units == 0 || (self.pending.is_none() && !self.reset_on_success) {
            return 0;
        }
        let mut settled = 0;
        if let Some(pending) = self.pending {
            timestamps::prune(&mut cooling.attempts, context.now, pending);
            settled = timestamps::remove_oldest(&mut cooling.attempts, units);
        }
        if self.reset_on_success {
            cooling.failures.clear();
        }
        if cooling.is_vacant() {
            *state = State::Vacant;
        }
        settled
    }

    /// An attempt is a single unit at any cost; a receipt for nothing charges failures.
    fn settle(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        actual: u64,
        _staged: u64,
    ) -> Option<u64> {
        if self.pending.is_none() || receipt.units == 0 {
            let more = actual.saturating_sub(receipt.units);
            let failures = self.chargeable(state, context, more);
            if failures > 0 {
                self.charge(state, context, failures);
            }
            return Some(receipt.units + failures);
        }
        let unused = receipt.units.saturating_sub(actual);
        if unused == 0 || context.now >= receipt.until() {
            return Some(receipt.units);
        }
        Some(receipt.units - self.refund_receipt(state, context, receipt, unused))
    }

    fn recovered_at(&self, state: &State) -> Time {
        match state {
            State::Cooling(cooling) => {
                let counted = cooling.failures.last().map(|failure| failure.at + self.within);
                let row = if self.has_streak(cooling) {
                    self.streak_ends_at(cooling)
                } else {
                    cooling.blocked_until
                };
                let recovered_at = counted.unwrap_or_default().max(row);
                match (self.pending, cooling.attempts.last()) {
                    (Some(pending), Some(newest)) => recovered_at.max(newest.at + pending),
                    _ => recovered_at,
                }
            }
            _ => Time::EPOCH,
        }
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        let State::Cooling(cooling) = state else { return EXHAUSTED };
        if cooling.blocked_until > now || self.is_from_a_wrong_clock(cooling, now) {
            return EXHAUSTED;
        }
        let used = timestamps::units(self.unexpired(state, now))
            + timestamps::units(self.attempts(state, now));
        let used = share(used.into(), self.after.into());
        // Evicting the streak would make the next block a short one again.
        let row = if self.has_streak(cooling) && self.streak_ends_at(cooling) > now {
            EXHAUSTED / 2
        } else {
            0
        };
        used.max(row)
    }
}
