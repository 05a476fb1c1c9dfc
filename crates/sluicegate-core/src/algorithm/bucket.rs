//! The token bucket, equivalent to the leaky bucket as a meter.
//!
//! Units refill continuously at `amount / period` up to the burst. The state is a single time:
//! when the bucket will be full again. As a meter, the time until then is the water level, which
//! drains as the units refill; both views give the same answers.
//!
//! ```text
//! used  = max(full_at, now) - now            time until full
//! level = used + (already + cost) * unit     time until full after this request
//! allowed       <=>  level <= full           full = burst * unit
//! remaining      =   floor((full - level) / unit)   if refused, with the level without the cost
//! retry_after    =   ceil(level - full)
//! ```
//!
//! `2/min` (a unit lasts 30 s, full = 60 s), starting vacant:
//!
//! | now | cost | used | level | answer | remaining | retry after | full at |
//! |---|---|---|---|---|---|---|---|
//! | 0 s | 1 | 0 | 30 | allowed | 1 | | 30 s |
//! | 0 s | 1 | 30 | 60 | allowed | 0 | | 60 s |
//! | 10 s | 1 | 50 | 80 | refused | 0 | 20 s | 60 s |
//! | 30 s | 1 | 30 | 60 | allowed | 0 | | 90 s |
//! | 95 s | 3 | 0 | | refused, for ever | 2 | | 90 s |

// Long because single takes and sets share one formula, and inlining it keeps the hot path short.

#![allow(
    clippy::inline_always,
    reason = "what every request passes through; see docs/benchmarks.md"
)]

use crate::algorithm::{EXHAUSTED, EvalContext, Evaluator, Usage, share};
use crate::decision::{Decision, Refusal};
use crate::exact_time::{EmissionInterval, ExactTime};
use crate::operation::Take;
use crate::receipt::Receipt;
use crate::state::State;
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    interval: EmissionInterval,
    capacity: u64,
    /// The time the whole capacity takes to refill.
    full: ExactTime,
    /// The limit of unconditional charges: `full`, or twice that where debt is allowed.
    deepest: ExactTime,
    /// State further ahead than this was written under a wrong clock.
    horizon: ExactTime,
}

impl Bucket {
    /// Creates a bucket; the caller guarantees that `capacity * interval.parts()` and the refill
    /// time fit.
    pub(crate) fn new(interval: EmissionInterval, capacity: u64) -> Self {
        Self::reaching(interval, capacity, interval.lasting::<true>(capacity * 2))
    }

    pub(crate) fn without_debt(&self) -> Self {
        Self::reaching(self.interval, self.capacity, self.full)
    }

    /// Returns a bucket that can be charged up to a second beyond full.
    ///
    /// Readers accept any state up to that far ahead.
    pub(crate) fn charged_late(&self) -> Self {
        let late = self.interval.add::<true>(self.full, ExactTime::lasting(Span::CLOCK_SLACK));
        Self { deepest: self.deepest.max(late), ..self.clone() }
    }

    /// Returns one of `nodes` shares of this bucket's rate and capacity.
    ///
    /// A share that would take longer to refill than any limit may is not divided.
    pub(crate) fn share_of(&self, nodes: u32) -> Self {
        let capacity = (self.capacity / u64::from(nodes)).max(1);
        match self.interval.slower(nodes) {
            Some(interval) if interval.lasting::<true>(capacity).ceil_span() <= Span::MAX => {
                Self::reaching(interval, capacity, interval.lasting::<true>(capacity))
            }
            _ => self.without_debt(),
        }
    }

    fn reaching(interval: EmissionInterval, capacity: u64, deepest: ExactTime) -> Self {
        let full = interval.lasting::<true>(capacity);
        let horizon = interval.add::<true>(deepest, ExactTime::lasting(Span::CLOCK_SLACK));
        Self { interval, capacity, full, deepest, horizon }
    }

    pub(crate) fn full(&self) -> Span {
        self.full.ceil_span()
    }

    /// Returns how far ahead a valid state can lie.
    pub(crate) fn longest_recovery(&self) -> Span {
        self.horizon.ceil_span()
    }

    /// Returns the parts per microsecond, and how many of them one unit lasts.
    pub(crate) const fn interval(&self) -> (u64, u64) {
        (self.interval.parts(), self.interval.unit_parts())
    }

    /// Returns the refill time, the limit of unconditional charges, and the horizon.
    pub(crate) const fn reach(&self) -> (ExactTime, ExactTime, ExactTime) {
        (self.full, self.deepest, self.horizon)
    }

    /// Returns the capacity in units.
    pub(crate) const fn units(&self) -> u64 {
        self.capacity
    }

    /// Returns the longest delay promised to a patient take: at most the allowed debt.
    pub(crate) fn longest_promise(&self) -> Span {
        Span::from_micros(self.interval.sub::<true>(self.deepest, self.full).micros)
    }

    /// Returns the time of recovery stored in the state.
    #[inline(always)]
    fn full_at(&self, state: &State) -> ExactTime {
        match *state {
            State::Bucket { full_at, parts } => self.interval.adopt(full_at, parts),
            _ => ExactTime::default(),
        }
    }

    /// Returns the time until the bucket is full.
    #[inline(always)]
    pub(super) fn used<const FRACTIONS: bool>(&self, state: &State, now: Time) -> ExactTime {
        self.interval.sub::<FRACTIONS>(self.full_at(state), ExactTime::at(now))
    }

    #[inline(always)]
    pub(super) fn level<const FRACTIONS: bool>(&self, used: ExactTime, units: u64) -> ExactTime {
        self.interval.add::<FRACTIONS>(used, self.interval.lasting::<FRACTIONS>(units))
    }

    #[inline(always)]
    pub(super) fn usage<const FRACTIONS: bool>(&self, level: ExactTime) -> Usage {
        let free = self.interval.sub::<FRACTIONS>(self.full, level);
        Usage {
            limit: self.capacity,
            remaining: self.interval.units_in::<FRACTIONS>(free),
            reset_after: level.ceil_span(),
        }
    }

    /// Returns the time until `level` fits; zero if it does.
    #[inline(always)]
    pub(super) fn wait_for<const FRACTIONS: bool>(&self, level: ExactTime) -> Span {
        self.interval.sub::<FRACTIONS>(level, self.full).ceil_span()
    }

    /// Returns the units granted to a take whose minimum fits, limited by the room left.
    pub(super) fn grant<const FRACTIONS: bool>(
        &self,
        used: ExactTime,
        take: Take,
        already: u64,
    ) -> u64 {
        if take.most == take.least {
            return take.least;
        }
        let free =
            self.interval.units_in::<FRACTIONS>(self.interval.sub::<FRACTIONS>(self.full, used));
        free.saturating_sub(already).min(take.most)
    }

    pub(super) fn write(&self, state: &mut State, now: Time, level: ExactTime) {
        *state = if level == ExactTime::default() {
            State::Vacant
        } else {
            let full_at = self.interval.add::<true>(ExactTime::at(now), level);
            State::Bucket { full_at, parts: self.interval.parts() }
        };
    }

    #[cold]
    fn repair_slow(&self, state: &mut State, now: Time) {
        if !matches!(state, State::Bucket { .. }) || self.used::<true>(state, now) > self.horizon {
            self.write(state, now, self.full);
        }
    }

    /// Converts a state written under `from` so that the same units are used now.
    ///
    /// The units are rounded up to whole ones and limited to one capacity: the conversion creates
    /// no debt.
    pub(crate) fn take_over(&self, from: &Self, state: &mut State, now: Time) {
        if !matches!(state, State::Bucket { .. }) {
            // Vacant, or left behind by another algorithm: independent of the quota.
            return;
        }
        from.repair_slow(state, now);
        // Exclude the clock's slack, which at a fast quota may amount to millions of units.
        let used = from.used::<true>(state, now).min(from.deepest);
        let units = from.interval.units_covering(used).min(self.capacity);
        self.write(state, now, self.interval.lasting::<true>(units));
    }

    /// Returns whether a unit lasts whole microseconds, as for most quotas.
    #[inline(always)]
    pub(crate) const fn is_whole(&self) -> bool {
        self.interval.is_whole()
    }

    /// Returns the time until the bucket is full, from the microsecond at which it will be.
    ///
    /// `None` if a unit does not last whole microseconds, or if the state has to be repaired.
    #[inline(always)]
    pub(crate) fn whole_used(&self, full_at: Time, now: Time) -> Option<ExactTime> {
        let used = ExactTime::lasting(full_at.since(now));
        (self.is_whole() && used.micros < self.horizon.micros).then_some(used)
    }

    /// Evaluates a take into `decision`; if allowed, returns the new time until full.
    #[inline(always)]
    pub(crate) fn evaluate_into(
        &self,
        state: &State,
        now: Time,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Option<ExactTime> {
        if self.is_whole() {
            self.evaluate_used::<false>(self.used::<false>(state, now), take, 0, decision)
        } else {
            self.evaluate_used::<true>(self.used::<true>(state, now), take, 0, decision)
        }
    }

    /// Charges the take evaluated last, the only one on its cell, with its level if known.
    #[inline(always)]
    pub(crate) fn charge_evaluated(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        decision: &mut Decision,
        level: Option<ExactTime>,
    ) {
        if self.is_whole() {
            // With whole microseconds, the decision contains the time until full.
            let level = level.unwrap_or_else(|| ExactTime::lasting(decision.reset_after));
            self.file::<false>(state, context, decision, level);
        } else {
            let recomputed = || {
                let used = self.used::<true>(state, context.now);
                self.level::<true>(used, decision.granted)
            };
            let level = level.unwrap_or_else(recomputed);
            self.file::<true>(state, context, decision, level);
        }
    }

    /// Writes a charge that leaves `level` until the bucket is full.
    #[inline(always)]
    fn file<const FRACTIONS: bool>(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        decision: &mut Decision,
        level: ExactTime,
    ) {
        let moment = self.interval.add::<FRACTIONS>(ExactTime::at(context.now), level);
        let until_parts = if FRACTIONS { self.interval.parts() } else { 1 };
        if let State::Bucket { full_at, parts } = state {
            // In place: replacing the whole state would have to drop the old one.
            (*full_at, *parts) = (moment, until_parts);
        } else {
            *state = State::Bucket { full_at: moment, parts: until_parts };
        }
        decision.receipt = Some(self.receipt::<FRACTIONS>(context, decision.granted));
    }

    /// Corrects the decision of a bucket that allowed, after its set was refused.
    #[inline(always)]
    pub(crate) fn update_usage<const FRACTIONS: bool>(
        &self,
        used: ExactTime,
        decision: &mut Decision,
    ) {
        if decision.is_allowed() {
            decision.update_usage(self.usage::<FRACTIONS>(used).allowed(0, Span::ZERO));
        }
    }

    /// Returns the receipt of a charge made now.
    #[inline(always)]
    pub(crate) fn receipt<const FRACTIONS: bool>(
        &self,
        context: &EvalContext<'_>,
        units: u64,
    ) -> Receipt {
        let (id, at) = (context.id(), context.now);
        let until = self.level::<FRACTIONS>(ExactTime::at(at), units);
        let until_parts = if FRACTIONS { self.interval.parts() } else { 1 };
        Receipt { id, units, at, until, until_parts }
    }

    #[inline(always)]
    pub(crate) fn evaluate_used<const FRACTIONS: bool>(
        &self,
        used: ExactTime,
        take: &Take,
        already: u64,
        decision: &mut Option<Decision>,
    ) -> Option<ExactTime> {
        let asked = take.least.saturating_add(already);
        if asked > self.capacity {
            *decision = Some(self.refuse_permanently::<FRACTIONS>(used, already));
            return None;
        }
        let level = self.level::<FRACTIONS>(used, asked);
        if !EmissionInterval::fits::<FRACTIONS>(level, self.full) {
            return self.promise::<FRACTIONS>(used, level, take, already, decision);
        }
        let (granted, level) = if take.most == take.least {
            (take.least, level)
        } else {
            let granted = self.grant::<FRACTIONS>(used, *take, already);
            (granted, self.level::<FRACTIONS>(used, already + granted))
        };
        *decision = Some(self.usage::<FRACTIONS>(level).allowed(granted, Span::ZERO));
        Some(level)
    }

    #[cold]
    fn refuse_permanently<const FRACTIONS: bool>(&self, used: ExactTime, already: u64) -> Decision {
        let usage = self.usage::<FRACTIONS>(self.level::<FRACTIONS>(used, already));
        usage.refused(Refusal::CostAboveLimit)
    }

    /// Answers a take that does not fit now: a delay within its patience, or a refusal.
    #[inline(always)]
    fn promise<const FRACTIONS: bool>(
        &self,
        used: ExactTime,
        level: ExactTime,
        take: &Take,
        already: u64,
        decision: &mut Option<Decision>,
    ) -> Option<ExactTime> {
        let wait = self.wait_for::<FRACTIONS>(level);
        let mut patience = Span::ZERO;
        if let Some(patient) = take.patience {
            patience = patient.min(self.longest_promise());
            if wait <= patience {
                *decision = Some(self.usage::<FRACTIONS>(level).allowed(take.least, wait));
                return Some(level);
            }
        }
        let usage = self.usage::<FRACTIONS>(self.level::<FRACTIONS>(used, already));
        *decision = Some(usage.refused(Refusal::Exhausted { retry_after: wait - patience }));
        None
    }
}

impl Evaluator for Bucket {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline(always)]
    fn repair(&self, state: &mut State, context: &EvalContext<'_>) {
        // The whole microseconds are almost always enough to decide.
        let sound = match state {
            State::Vacant => true,
            State::Bucket { full_at, .. } => {
                full_at.micros < context.now.as_micros() + self.horizon.micros
            }
            _ => false,
        };
        if !sound {
            self.repair_slow(state, context.now);
        }
    }

    fn evaluate(
        &self,
        state: &State,
        context: &EvalContext<'_>,
        take: Take,
        already: u64,
    ) -> Decision {
        let mut decision = None;
        if self.is_whole() {
            let used = self.used::<false>(state, context.now);
            self.evaluate_used::<false>(used, &take, already, &mut decision);
        } else {
            let used = self.used::<true>(state, context.now);
            self.evaluate_used::<true>(used, &take, already, &mut decision);
        }
        decision.unwrap_or_else(|| unreachable!("every take is answered"))
    }

    fn chargeable(&self, state: &State, context: &EvalContext<'_>, units: u64) -> u64 {
        let room = self.interval.sub::<true>(self.deepest, self.used::<true>(state, context.now));
        self.interval.units_in::<true>(room).min(units)
    }

    fn charge(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> Option<Receipt> {
        let level = self.level::<true>(self.used::<true>(state, context.now), units);
        self.write(state, context.now, level);
        // By its end the charge alone has refilled, however full the bucket was.
        Some(self.receipt::<true>(context, units))
    }

    fn refund_receipt(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let used = self.used::<true>(state, context.now);
        // Only units that cannot have refilled since are refunded: more would mint units.
        let until = self.interval.adopt(receipt.until, receipt.until_parts);
        let left = self.interval.sub::<true>(until, ExactTime::at(context.now));
        let worth = self.interval.lasting::<true>(units).min(left);
        if used == ExactTime::default() || worth == ExactTime::default() {
            return 0;
        }
        self.write(state, context.now, self.interval.sub::<true>(used, worth));
        self.interval.units_in::<true>(worth)
    }

    fn refund(&self, state: &mut State, context: &EvalContext<'_>, units: u64) -> u64 {
        let used = self.used::<true>(state, context.now);
        let worth = self.interval.lasting::<true>(units).min(used);
        if worth > ExactTime::default() {
            self.write(state, context.now, self.interval.sub::<true>(used, worth));
        }
        self.interval.units_in::<true>(worth)
    }

    fn recovered_at(&self, state: &State) -> Time {
        self.full_at(state).ceil()
    }

    fn share_used(&self, state: &State, now: Time) -> u16 {
        let used = self.used::<true>(state, now);
        let foreign = !matches!(state, State::Bucket { .. });
        if foreign || used >= self.full {
            return EXHAUSTED;
        }
        if self.level::<true>(used, 1) > self.full {
            return EXHAUSTED;
        }
        share(self.interval.parts_in(used), self.interval.parts_in(self.full))
    }
}
