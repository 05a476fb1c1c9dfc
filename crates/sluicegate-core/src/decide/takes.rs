//! The common path of a decision: takes that all have to admit, each on a cell of its own.

#![allow(
    clippy::inline_always,
    reason = "a single take stays in registers only if it is; see docs/benchmarks.md"
)]

use super::{CellRef, Ruling};
use crate::algorithm::{EvalContext, Evaluator};
use crate::decision::Decision;
use crate::exact_time::ExactTime;
use crate::limit::Limit;
use crate::operation::Take;
use crate::set::Set;
use crate::state::State;
use crate::time::Time;

/// The outcome of a take that was evaluated.
pub(super) enum TakeOutcome {
    /// Allowed: a bucket would be full after this time; any time for another limit.
    Allowed(ExactTime),
    Refused,
}

impl From<Option<ExactTime>> for TakeOutcome {
    #[inline(always)]
    fn from(level: Option<ExactTime>) -> Self {
        level.map_or(Self::Refused, Self::Allowed)
    }
}

/// The cells of a set, one for each check.
pub(super) trait TakeCells {
    /// Evaluates a take; `None` if it needs the general path.
    fn evaluate(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Option<TakeOutcome>;

    /// Charges a take that was allowed; `level` is the result of the evaluation, if it is known.
    fn charge(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        decision: &mut Decision,
        level: Option<ExactTime>,
    );

    /// Corrects the decision on a take that was allowed, after its set was refused.
    fn update_usage(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        decision: &mut Option<Decision>,
    );
}

/// The microseconds at which buckets will be full.
impl TakeCells for [Time] {
    #[inline(always)]
    fn evaluate(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Option<TakeOutcome> {
        let bucket = limit.as_bucket()?;
        let used = bucket.whole_used(self[context.index], context.now)?;
        Some(bucket.evaluate_used::<false>(used, take, 0, decision).into())
    }

    #[inline(always)]
    fn charge(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        decision: &mut Decision,
        _: Option<ExactTime>,
    ) {
        let Some(bucket) = limit.as_bucket().filter(|_| decision.granted > 0) else { return };
        decision.receipt = Some(bucket.receipt::<false>(context, decision.granted));
        // With whole microseconds, the decision contains the time until full.
        let full_at = context.now.as_micros() + decision.reset_after.as_micros();
        self[context.index] = Time::computed(full_at);
    }

    #[inline(always)]
    fn update_usage(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        decision: &mut Option<Decision>,
    ) {
        if let (Some(bucket), Some(decision)) = (limit.as_bucket(), decision) {
            let used = ExactTime::lasting(self[context.index].since(context.now));
            bucket.update_usage::<false>(used, decision);
        }
    }
}

/// The states of any limits.
impl TakeCells for [State] {
    #[inline(always)]
    fn evaluate(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> Option<TakeOutcome> {
        let state = &mut self[context.index];
        if let Some(bucket) = limit.as_bucket() {
            bucket.repair(state, context);
            return Some(bucket.evaluate_into(state, context.now, take, decision).into());
        }
        let algorithm = limit.each();
        algorithm.repair(state, context);
        let made = decision.insert(algorithm.evaluate(state, context, *take, 0));
        Some(made.is_allowed().then(ExactTime::default).into())
    }

    #[inline(always)]
    fn charge(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        decision: &mut Decision,
        level: Option<ExactTime>,
    ) {
        if decision.granted == 0 {
            return;
        }
        let state = &mut self[context.index];
        if let Some(bucket) = limit.as_bucket() {
            bucket.charge_evaluated(state, context, decision, level);
        } else if limit.uses_up() {
            decision.receipt = limit.each().charge_take(state, context, decision.granted);
        }
    }

    #[inline(always)]
    fn update_usage(
        &mut self,
        context: &EvalContext<'_>,
        limit: &Limit,
        decision: &mut Option<Decision>,
    ) {
        let Some(allowed) = decision.filter(Decision::is_allowed) else { return };
        let state = &self[context.index];
        if let Some(bucket) = limit.as_bucket() {
            // In place, because returning the decision made a refused set of buckets half as slow
            // again.
            bucket.evaluate_into(state, context.now, &Take::PEEK, decision);
        } else {
            *decision = Some(limit.each().evaluate(state, context, Take::PEEK, 0));
        }
        if let Some(decision) = decision {
            // In debt not even a peek is allowed, but this limit did allow the take.
            let usage = core::mem::replace(decision, allowed);
            decision.update_usage(usage);
        }
    }
}

/// Returns whether a set consists of required takes, each on the cell of its own index.
pub(super) fn has_own_cells(set: &Set<'_>, now: Time, places: &[CellRef]) -> bool {
    let mut checks = set.checks.iter().zip(places).enumerate();
    !set.independent
        && checks.all(|(index, (check, place))| {
            place.cell == index && check.plain_take().is_some() && !check.is_stale(now)
        })
}

/// Decides takes that all have to admit, each on a cell of its own.
///
/// `None`, with nothing changed but `decisions`, if the set contains anything else. `ONE` is
/// whether it is a single take, whose level need not be computed twice.
#[inline(always)]
pub(super) fn decide_takes<const ONE: bool, C: TakeCells + ?Sized>(
    set: &Set<'_>,
    now: Time,
    cells: &mut C,
    decisions: &mut [Option<Decision>],
) -> Option<Ruling> {
    let decisions = &mut decisions[..set.checks.len()];
    let (mut admitted, mut level) = (true, None);
    for (index, (check, decision)) in set.checks.iter().zip(&mut *decisions).enumerate() {
        let context = EvalContext { now, set, index };
        match cells.evaluate(&context, check.limit(), check.plain_take()?, decision)? {
            TakeOutcome::Allowed(made) if ONE => level = Some(made),
            TakeOutcome::Allowed(_) => {}
            TakeOutcome::Refused => admitted = false,
        }
    }
    let all = set.checks.iter().zip(decisions).enumerate();
    if !admitted && ONE {
        return Some(Ruling::Refused);
    }
    if !admitted {
        for (index, (check, decision)) in all {
            cells.update_usage(&EvalContext { now, set, index }, check.limit(), decision);
        }
        return Some(Ruling::Refused);
    }
    for (index, (check, decision)) in all {
        if let Some(decision) = decision {
            cells.charge(&EvalContext { now, set, index }, check.limit(), decision, level);
        }
    }
    Some(Ruling::Admitted)
}
