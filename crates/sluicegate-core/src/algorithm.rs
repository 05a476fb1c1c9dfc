//! The shape every algorithm has: read the state, judge a take, charge, give back.

pub(crate) mod bucket;
pub(crate) mod concurrency;
pub(crate) mod cooldown;
pub(crate) mod fixed_window;
pub(crate) mod queue;
pub(crate) mod sliding_log;
pub(crate) mod sliding_window;
mod stamps;

use crate::ask::{Id, Receipt, Take};
use crate::check::Set;
use crate::decision::{Answer, Decision, Refusal};
use crate::state::State;
use crate::time::{Period, Span, Time};

/// When a check is decided, in which calendar window, and for which set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) now: Time,
    pub(crate) set: &'a Set<'a>,
    /// Which of the set's checks this is.
    pub(crate) index: usize,
}

impl Scene<'_> {
    /// The calendar window that the check was handed.
    fn period(&self) -> Option<Period> {
        self.set.checks[self.index].period()
    }

    /// What the charge of this check is named.
    pub(crate) fn id(&self) -> Id {
        self.set.id.of_check(self.index)
    }
}

/// One algorithm with its quota.
///
/// Judging never writes: a refusal leaves every counter as it was. The one thing that is
/// written regardless is [`mend`](Algorithm::mend), for state no clock of ours can have made.
pub(crate) trait Algorithm {
    /// The most units there ever are.
    fn capacity(&self) -> u64;

    /// Rewrites state that lies further ahead than a full recovery (the clock was set back),
    /// or that another algorithm left behind, as "exhausted now".
    fn mend(&self, state: &mut State, scene: &Scene<'_>);

    /// Answers a take on top of the `already` units that the same set has staged here.
    fn judge(&self, state: &State, scene: &Scene<'_>, take: Take, already: u64) -> Decision;

    /// How many of these units may be charged without asking.
    fn chargeable(&self, state: &State, scene: &Scene<'_>, units: u64) -> u64;

    /// Writes a charge, which has been judged or found chargeable.
    fn charge(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt>;

    /// Writes what a take was granted; the same as a charge, but for attempts and failures.
    fn charge_take(&self, state: &mut State, scene: &Scene<'_>, units: u64) -> Option<Receipt> {
        self.charge(state, scene, units)
    }

    /// Gives back up to `units` of what the receipt is still worth; returns the units given.
    fn give_back(&self, _: &mut State, _: &Scene<'_>, _: &Receipt, _units: u64) -> u64 {
        0
    }

    /// Gives back up to `units` of what is used now, the newest first; returns the units given.
    fn refund(&self, _: &mut State, _: &Scene<'_>, _units: u64) -> u64 {
        0
    }

    /// How many units may be charged without asking on top of what the set has staged here.
    fn chargeable_beside(&self, state: &State, scene: &Scene<'_>, units: u64, staged: u64) -> u64 {
        self.chargeable(state, scene, units.saturating_add(staged)).saturating_sub(staged)
    }

    /// Corrects the charge of a receipt to `actual` units; returns the units that then stand,
    /// or nothing if the charge was a hold that is gone.
    fn settle(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
        actual: u64,
        staged: u64,
    ) -> Option<u64> {
        if actual > receipt.units {
            let more = self.chargeable_beside(state, scene, actual - receipt.units, staged);
            if more > 0 {
                self.charge(state, scene, more);
            }
            return Some(receipt.units + more);
        }
        if scene.now >= receipt.until() {
            return Some(receipt.units);
        }
        Some(receipt.units - self.give_back(state, scene, receipt, receipt.units - actual))
    }

    /// From when on the state is as good as vacant.
    fn fresh_at(&self, state: &State) -> Time;

    /// How much of the capacity a state that is not vacant has used, read as if it had just been
    /// mended: see [`Limit::share_used`](crate::Limit::share_used).
    fn share_used(&self, state: &State, now: Time) -> u16;
}

/// What nothing is left of.
const EXHAUSTED: u16 = u16::MAX;

/// `used` of `whole`, rounded up: whatever was used shows.
fn share(used: u128, whole: u128) -> u16 {
    if used >= whole {
        return EXHAUSTED;
    }
    u16::try_from((used * u128::from(EXHAUSTED)).div_ceil(whole)).unwrap_or(EXHAUSTED)
}

/// How much is left after a decision.
#[derive(Debug, Clone, Copy)]
struct Standing {
    limit: u64,
    remaining: u64,
    reset_after: Span,
}

impl Standing {
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
