//! The token bucket, which read from the other side is the leaky bucket as a meter.
//!
//! Units refill continuously at `amount / period` up to the burst. The state is one
//! moment: when the bucket will be full again. Seen as a meter, the time until then is
//! the water level, and the units refill as it drains; no answer differs.
//!
//! ```text
//! used  = max(full_at, now) - now            time until full
//! level = used + (already + cost) * unit     time until full after this request
//! allowed       <=>  level <= full           full = burst * unit
//! remaining      =   floor((full - level) / unit)
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

#![allow(
    clippy::inline_always,
    reason = "what every request passes through; see docs/benchmarks.md"
)]

use crate::algorithm::{Algorithm, EXHAUSTED, Scene, Standing, share};
use crate::ask::{Receipt, Take};
use crate::decision::{Decision, Refusal};
use crate::moment::{Moment, Pace};
use crate::set::{Alone, Ruling};
use crate::state::State;
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    pace: Pace,
    capacity: u64,
    /// How long the whole capacity takes to refill.
    full: Moment,
    /// How far charges without asking may go: `full`, or twice that where debt is allowed.
    deepest: Moment,
    /// No clock of ours makes state that lies further ahead than this.
    horizon: Moment,
}

/// Calls a method for this bucket's kind of arithmetic.
macro_rules! exactly {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        if $self.pace.is_whole() {
            $self.$method::<false>($($argument),*)
        } else {
            $self.$method::<true>($($argument),*)
        }
    };
}

impl Bucket {
    /// The caller has seen to it that `capacity * pace.parts()` and the time to refill fit.
    pub(crate) fn new(pace: Pace, capacity: u64) -> Self {
        Self::reaching(pace, capacity, pace.lasting::<true>(capacity * 2))
    }

    pub(crate) fn without_debt(&self) -> Self {
        Self::reaching(self.pace, self.capacity, self.full)
    }

    /// The same where charges may go a second beyond full, which any state is believed to.
    pub(crate) fn charged_late(&self) -> Self {
        let late = self.pace.add::<true>(self.full, Moment::lasting(Span::CLOCK_SLACK));
        Self { deepest: self.deepest.max(late), ..self.clone() }
    }

    /// One of `nodes` parts of this bucket: of its rate and of its capacity. One that would take
    /// longer to refill than any limit may stays whole.
    pub(crate) fn share_of(&self, nodes: u32) -> Self {
        let capacity = (self.capacity / u64::from(nodes)).max(1);
        match self.pace.slower(nodes) {
            Some(pace) if pace.lasting::<true>(capacity).ceil_span() <= Span::MAX => {
                Self::reaching(pace, capacity, pace.lasting::<true>(capacity))
            }
            _ => self.without_debt(),
        }
    }

    fn reaching(pace: Pace, capacity: u64, deepest: Moment) -> Self {
        let full = pace.lasting::<true>(capacity);
        let horizon = pace.add::<true>(deepest, Moment::lasting(Span::CLOCK_SLACK));
        Self { pace, capacity, full, deepest, horizon }
    }

    pub(crate) fn full(&self) -> Span {
        self.full.ceil_span()
    }

    /// The farthest ahead that a state can be believed to lie.
    pub(crate) fn farthest(&self) -> Span {
        self.horizon.ceil_span()
    }

    /// Parts of a microsecond that it counts in, and how many of them a unit lasts.
    pub(crate) const fn pace(&self) -> (u64, u64) {
        (self.pace.parts(), self.pace.unit_parts())
    }

    /// How long it takes to refill, at the most after charges without asking, and at the very most.
    pub(crate) const fn reach(&self) -> (Moment, Moment, Moment) {
        (self.full, self.deepest, self.horizon)
    }

    /// The most units there ever are.
    pub(crate) const fn units(&self) -> u64 {
        self.capacity
    }

    /// A promised place in line is a debt, and goes no deeper than one.
    pub(crate) fn longest_promise(&self) -> Span {
        Span::from_micros(self.pace.sub::<true>(self.deepest, self.full).micros)
    }

    /// The moment of recovery that the state tells.
    #[inline(always)]
    fn full_at(&self, state: &State) -> Moment {
        match *state {
            State::Bucket { full_at, parts } => self.pace.adopt(full_at, parts),
            _ => Moment::default(),
        }
    }

    /// How long until the bucket is full.
    #[inline(always)]
    pub(super) fn used<const FRACTIONS: bool>(&self, state: &State, now: Time) -> Moment {
        self.pace.sub::<FRACTIONS>(self.full_at(state), Moment::at(now))
    }

    #[inline(always)]
    pub(super) fn level<const FRACTIONS: bool>(&self, used: Moment, units: u64) -> Moment {
        self.pace.add::<FRACTIONS>(used, self.pace.lasting::<FRACTIONS>(units))
    }

    #[inline(always)]
    pub(super) fn standing<const FRACTIONS: bool>(&self, level: Moment) -> Standing {
        let free = self.pace.sub::<FRACTIONS>(self.full, level);
        Standing {
            limit: self.capacity,
            remaining: self.pace.units_in::<FRACTIONS>(free),
            reset_after: level.ceil_span(),
        }
    }

    /// How long until `level` fits; zero if it does.
    #[inline(always)]
    pub(super) fn wait_for<const FRACTIONS: bool>(&self, level: Moment) -> Span {
        self.pace.sub::<FRACTIONS>(level, self.full).ceil_span()
    }

    /// What a take gets when its least fits: as much of the rest as there is room for.
    pub(super) fn grant<const FRACTIONS: bool>(
        &self,
        used: Moment,
        take: Take,
        already: u64,
    ) -> u64 {
        if take.most == take.least {
            return take.least;
        }
        let free = self.pace.units_in::<FRACTIONS>(self.pace.sub::<FRACTIONS>(self.full, used));
        free.saturating_sub(already).min(take.most)
    }

    pub(super) fn write(&self, state: &mut State, now: Time, level: Moment) {
        *state = if level == Moment::default() {
            State::Vacant
        } else {
            let full_at = self.pace.add::<true>(Moment::at(now), level);
            State::Bucket { full_at, parts: self.pace.parts() }
        };
    }

    #[cold]
    fn mend_slowly(&self, state: &mut State, now: Time) {
        if !matches!(state, State::Bucket { .. }) || self.used::<true>(state, now) > self.horizon {
            self.write(state, now, self.full);
        }
    }

    /// Takes over a state that was written under `from`: the units used then are used now. They
    /// are rounded up to whole ones, and are one capacity at most: this makes no debt.
    pub(crate) fn take_over(&self, from: &Self, state: &mut State, now: Time) {
        if !matches!(state, State::Bucket { .. }) {
            // Vacant, or left behind by another algorithm, which is no question of quotas.
            return;
        }
        from.mend_slowly(state, now);
        // Not what only the clock's slack adds, which of a quick quota may be millions.
        let used = from.used::<true>(state, now).min(from.deepest);
        let units = from.pace.units_covering(used).min(self.capacity);
        self.write(state, now, self.pace.lasting::<true>(units));
    }

    /// Whether a unit lasts whole microseconds, as it does for most quotas.
    #[inline(always)]
    pub(crate) const fn is_whole(&self) -> bool {
        self.pace.is_whole()
    }

    /// Judges a take and writes the decision where it belongs; if it is allowed, returns the
    /// time until the bucket is full after it.
    #[inline(always)]
    pub(crate) fn judge_into(
        &self,
        state: &State,
        now: Time,
        take: &Take,
        already: u64,
        decision: &mut Option<Decision>,
    ) -> Option<Moment> {
        exactly!(self.judge_in(state, now, take, already, decision))
    }

    #[inline(always)]
    fn judge_in<const FRACTIONS: bool>(
        &self,
        state: &State,
        now: Time,
        take: &Take,
        already: u64,
        decision: &mut Option<Decision>,
    ) -> Option<Moment> {
        let used = self.used::<FRACTIONS>(state, now);
        self.judge_used::<FRACTIONS>(used, take, already, decision)
    }

    #[inline(always)]
    fn judge_used<const FRACTIONS: bool>(
        &self,
        used: Moment,
        take: &Take,
        already: u64,
        decision: &mut Option<Decision>,
    ) -> Option<Moment> {
        let asked = take.least.saturating_add(already);
        if asked > self.capacity {
            *decision = Some(self.never::<FRACTIONS>(used, already));
            return None;
        }
        let level = self.level::<FRACTIONS>(used, asked);
        if !Pace::fits::<FRACTIONS>(level, self.full) {
            return self.promise::<FRACTIONS>(used, level, take, already, decision);
        }
        let (granted, level) = if take.most == take.least {
            (take.least, level)
        } else {
            let granted = self.grant::<FRACTIONS>(used, *take, already);
            (granted, self.level::<FRACTIONS>(used, already + granted))
        };
        *decision = Some(self.standing::<FRACTIONS>(level).allowed(granted, Span::ZERO));
        Some(level)
    }

    #[cold]
    fn never<const FRACTIONS: bool>(&self, used: Moment, already: u64) -> Decision {
        let standing = self.standing::<FRACTIONS>(self.level::<FRACTIONS>(used, already));
        standing.refused(Refusal::CostAboveLimit)
    }

    /// Answers a take that does not fit now: a later moment if it has the patience, else no.
    #[inline(always)]
    fn promise<const FRACTIONS: bool>(
        &self,
        used: Moment,
        level: Moment,
        take: &Take,
        already: u64,
        decision: &mut Option<Decision>,
    ) -> Option<Moment> {
        let wait = self.wait_for::<FRACTIONS>(level);
        let mut patience = Span::ZERO;
        if let Some(patient) = take.patience {
            patience = patient.min(self.longest_promise());
            if wait <= patience {
                *decision = Some(self.standing::<FRACTIONS>(level).allowed(take.least, wait));
                return Some(level);
            }
        }
        let standing = self.standing::<FRACTIONS>(self.level::<FRACTIONS>(used, already));
        *decision = Some(standing.refused(Refusal::Exhausted { retry_after: wait - patience }));
        None
    }

    /// Decides and charges one take alone.
    #[inline(always)]
    pub(crate) fn take(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Ruling {
        self.mend(state, scene);
        exactly!(self.take_in(state, scene, take, decision))
    }

    #[inline(always)]
    fn take_in<const FRACTIONS: bool>(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Ruling {
        let Some(level) = self.judge_in::<FRACTIONS>(state, scene.now, take, 0, decision) else {
            return Ruling::Refused;
        };
        if let Some(decision) = decision {
            self.file::<FRACTIONS>(state, scene, decision, level);
        }
        Ruling::Admitted
    }

    /// Decides and charges one take alone, on a bucket that is full again at `full_at`; `None`
    /// if there is more to it, or if its unit does not last whole microseconds.
    #[inline(always)]
    pub(crate) fn take_whole(
        &self,
        full_at: Time,
        scene: &Scene<'_>,
        take: &Take,
    ) -> Option<Alone> {
        let mut decision = None;
        let admitted = self.judge_whole(full_at, scene.now, take, &mut decision)?;
        let mut decision = decision?;
        if !admitted {
            return Some(Alone { ruling: Ruling::Refused, decision, full_at });
        }
        let full_at = self.charge_whole(full_at, scene, &mut decision);
        Some(Alone { ruling: Ruling::Admitted, decision, full_at })
    }

    /// Whether a take is allowed; `None` where [`take_whole`](Self::take_whole) says so.
    #[inline(always)]
    pub(crate) fn judge_whole(
        &self,
        full_at: Time,
        now: Time,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Option<bool> {
        let used = Moment::lasting(full_at.since(now));
        if !self.is_whole() || used.micros >= self.horizon.micros {
            return None;
        }
        Some(self.judge_used::<false>(used, take, 0, decision).is_some())
    }

    /// Charges what was judged just now; when the bucket will be full again.
    #[inline(always)]
    pub(crate) fn charge_whole(
        &self,
        full_at: Time,
        scene: &Scene<'_>,
        decision: &mut Decision,
    ) -> Time {
        if decision.granted == 0 {
            return full_at;
        }
        decision.receipt = Some(self.receipt::<false>(scene, decision.granted));
        // At a pace of whole microseconds the time until full stands in the decision.
        Time::computed(scene.now.as_micros() + decision.reset_after.as_micros())
    }

    /// Tells, of a set that was refused, how a bucket that allowed stands without it.
    #[inline(always)]
    pub(crate) fn restate_whole(&self, full_at: Time, now: Time, decision: &mut Decision) {
        if decision.is_allowed() {
            let used = Moment::lasting(full_at.since(now));
            decision.restate(self.standing::<false>(used).allowed(0, Span::ZERO));
        }
    }

    /// Charges what was judged just now, alone on its cell.
    #[inline(always)]
    pub(crate) fn charge_judged(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        decision: &mut Decision,
    ) {
        if self.is_whole() {
            // At a pace of whole microseconds the time until full stands in the decision.
            let level = Moment::lasting(decision.reset_after);
            self.file::<false>(state, scene, decision, level);
        } else {
            let used = self.used::<true>(state, scene.now);
            let level = self.level::<true>(used, decision.granted);
            self.file::<true>(state, scene, decision, level);
        }
    }

    /// Files a charge that leaves `level` until the bucket is full.
    #[inline(always)]
    fn file<const FRACTIONS: bool>(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        decision: &mut Decision,
        level: Moment,
    ) {
        if decision.granted == 0 {
            return;
        }
        let moment = self.pace.add::<FRACTIONS>(Moment::at(scene.now), level);
        let until_parts = if FRACTIONS { self.pace.parts() } else { 1 };
        if let State::Bucket { full_at, parts } = state {
            // In place: replacing the whole state would have to drop the old one.
            (*full_at, *parts) = (moment, until_parts);
        } else {
            *state = State::Bucket { full_at: moment, parts: until_parts };
        }
        decision.receipt = Some(self.receipt::<FRACTIONS>(scene, decision.granted));
    }

    /// What was charged just now.
    #[inline(always)]
    fn receipt<const FRACTIONS: bool>(&self, scene: &Scene<'_>, units: u64) -> Receipt {
        let (id, at) = (scene.id(), scene.now);
        let until = self.level::<FRACTIONS>(Moment::at(at), units);
        let until_parts = if FRACTIONS { self.pace.parts() } else { 1 };
        Receipt { id, units, at, until, until_parts }
    }
}

impl Algorithm for Bucket {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline(always)]
    fn mend(&self, state: &mut State, scene: &Scene<'_>) {
        // Whole microseconds tell almost always.
        let sound = match state {
            State::Vacant => true,
            State::Bucket { full_at, .. } => {
                full_at.micros < scene.now.as_micros() + self.horizon.micros
            }
            _ => false,
        };
        if !sound {
            self.mend_slowly(state, scene.now);
        }
    }

    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, already: u64) -> Decision {
        let mut decision = None;
        self.judge_into(state, scene.now, &take, already, &mut decision);
        decision.unwrap_or_else(|| unreachable!("every take is answered"))
    }

    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64 {
        let room = self.pace.sub::<true>(self.deepest, self.used::<true>(state, scene.now));
        self.pace.units_in::<true>(room).min(units)
    }

    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        let level = self.level::<true>(self.used::<true>(state, scene.now), units);
        self.write(state, scene.now, level);
        // By then the charge alone has refilled, however full the bucket was.
        let until = self.level::<true>(Moment::at(scene.now), units);
        let until_parts = self.pace.parts();
        Some(Receipt { id: scene.id(), units, at: scene.now, until, until_parts })
    }

    fn give_back(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
        units: u64,
    ) -> u64 {
        let used = self.used::<true>(state, scene.now);
        // A charge is worth what cannot have refilled since: giving back more would mint units.
        let until = self.pace.adopt(receipt.until, receipt.until_parts);
        let left = self.pace.sub::<true>(until, Moment::at(scene.now));
        let worth = self.pace.lasting::<true>(units).min(left);
        if used == Moment::default() || worth == Moment::default() {
            return 0;
        }
        self.write(state, scene.now, self.pace.sub::<true>(used, worth));
        self.pace.units_in::<true>(worth)
    }

    fn refund(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> u64 {
        let used = self.used::<true>(state, scene.now);
        let worth = self.pace.lasting::<true>(units).min(used);
        if worth > Moment::default() {
            self.write(state, scene.now, self.pace.sub::<true>(used, worth));
        }
        self.pace.units_in::<true>(worth)
    }

    fn fresh_at(&self, state: &State) -> Time {
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
        share(self.pace.parts_in(used), self.pace.parts_in(self.full))
    }
}
