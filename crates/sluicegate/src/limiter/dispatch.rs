//! Dispatch of checks to the store: synchronously if it can decide, else by waiting.

use sluicegate_core::{Check, Cost, Decision, Limit, Operation, Receipt, Ruling, Set, Time};
use smallvec::SmallVec;

use crate::calendar::period_at;
use crate::clock::Clock;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::memory::Memory;
use crate::plan::{Plan, PlanView};
use crate::set_id::next_set_id;
use crate::store::{Applied, Batch, Store};
use crate::verdict::Verdict;

/// The number of sets passed to a store without allocating.
const SETS_PER_CALL: usize = 16;
/// The number of retries when the store's time is outside the calendar window.
const CALENDAR_TRIES: usize = 4;

impl<S: Store> Limiter<S> {
    /// Refunds a charge without waiting for the result.
    pub(crate) fn refund_detached(&self, limit: &Limit, key: &[u8], receipt: Receipt) {
        let refund = Operation::Settle { receipt, actual: Cost::ZERO };
        let check = Check::new(limit, key).with_operation(refund);
        self.store().apply_detached(in_period(check, self.store().clock().now()));
    }

    /// Returns the decision of a bucket if the store can decide without waiting.
    #[inline(always)]
    pub(crate) fn try_run(&self, check: &Check<'_>) -> Option<Decision> {
        validate(check).ok()?;
        let (_, decision) = self.store().try_apply_one(&Set::one(check, next_set_id()))?;
        Some(decision)
    }

    /// Decides independent checks, up to the first that has to wait.
    pub(crate) fn try_run_batch(
        &self,
        checks: &[Check<'_>],
        decisions: &mut Vec<Decision>,
    ) -> usize {
        // A single check has nothing to be prefetched with.
        if let [check] = checks
            && let Some(decision) = self.try_run(check)
        {
            decisions.push(decision);
            return 1;
        }
        let before = decisions.len();
        for checks in checks.chunks(SETS_PER_CALL) {
            let simple = checks.iter().take_while(|check| is_simple(check));
            let sets: SmallVec<[Set<'_>; SETS_PER_CALL]> =
                simple.map(|check| Set::one(check, next_set_id())).collect();
            let mut made = [None; SETS_PER_CALL];
            let mut batch = Batch::new(&sets, &mut made);
            self.store().try_apply(&mut batch);
            let decided = batch.applied().len();
            decisions.extend(made.into_iter().take(decided).flatten());
            if decided < checks.len() {
                break;
            }
        }
        decisions.len() - before
    }

    /// Returns the verdict on a plan if the store can decide without waiting.
    #[inline(always)]
    pub(crate) fn try_run_plan(&self, plan: PlanView<'_>) -> Option<Verdict> {
        if !are_simple(plan.checks) {
            return None;
        }
        let mut verdict = Verdict::unresolved(plan.checks.len());
        let set = plan.set();
        let mut batch = Batch::new(std::slice::from_ref(&set), verdict.places());
        self.store().try_apply(&mut batch);
        let applied = *batch.applied().first()?;
        if applied.ruling == Ruling::Contradictory {
            // Nothing was charged; the asynchronous path returns the error.
            return None;
        }
        verdict.resolve(plan.checks, applied);
        Some(verdict)
    }

    pub(crate) async fn run(&self, check: &Check<'_>) -> Result<Decision, CheckError> {
        if let Some(decision) = self.try_run(check) {
            return Ok(decision);
        }
        let mut decisions = [None];
        self.apply_one(PlanView::of_check(check), &mut decisions).await?;
        let [decision] = decisions;
        Ok(decision.unwrap_or_else(|| unreachable!("a lone check is always decided")))
    }

    pub(crate) async fn run_plan(&self, plan: PlanView<'_>) -> Result<Verdict, CheckError> {
        let mut verdict = Verdict::unresolved(plan.checks.len());
        let applied = self.apply_one(plan, verdict.places()).await?;
        verdict.resolve(plan.checks, applied);
        Ok(verdict)
    }

    /// Decides plans in their order, each as if it had been sent alone.
    ///
    /// The store may find that a calendar window is stale; such a plan is then sent again. Hence a
    /// plan with a calendar ends its call: the plans behind it are sent once it has been decided.
    pub(crate) async fn run_batch(&self, plans: &[Plan<'_>]) -> Vec<Result<Verdict, CheckError>> {
        let mut verdicts = Vec::with_capacity(plans.len());
        for plans in plans.chunks(S::BATCH) {
            for plans in plans.split_inclusive(|plan| !are_simple(plan.checks())) {
                match plans.split_last() {
                    // An invalid plan is not sent: the path of a single plan returns its error.
                    Some((invalid, before)) if validate_all(invalid.checks()).is_err() => {
                        self.run_call(before, &mut verdicts).await;
                        verdicts.push(self.run_plan(invalid.view()).await);
                    }
                    _ => self.run_call(plans, &mut verdicts).await,
                }
            }
        }
        verdicts
    }

    /// Decides valid plans in one call; only the last may have a calendar.
    async fn run_call(&self, plans: &[Plan<'_>], verdicts: &mut Vec<Result<Verdict, CheckError>>) {
        let views: SmallVec<[PlanView<'_>; SETS_PER_CALL]> = plans.iter().map(Plan::view).collect();
        let mut decisions = vec![None; views.iter().map(|plan| plan.checks.len()).sum()];
        let outcomes = self.apply(&views, &mut decisions).await;
        let mut rest = &decisions[..];
        for (plan, outcome) in views.iter().zip(outcomes) {
            let (own, after) = rest.split_at(plan.checks.len());
            rest = after;
            verdicts.push(outcome.map(|applied| {
                let mut verdict = Verdict::unresolved(own.len());
                verdict.places().copy_from_slice(own);
                verdict.resolve(plan.checks, applied);
                verdict
            }));
        }
    }

    /// Decides one plan.
    async fn apply_one(
        &self,
        plan: PlanView<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        validate_all(plan.checks)?;
        let mut outcomes = self.apply(std::slice::from_ref(&plan), decisions).await;
        outcomes.pop().unwrap_or_else(|| unreachable!("a plan has an outcome"))
    }

    /// Decides valid plans in one call; only the last may have a calendar.
    ///
    /// Its windows are those of this process's estimate of the time at first, and of the store's own
    /// time if that is outside of them. Without a calendar no other clock has to be read.
    async fn apply(
        &self,
        plans: &[PlanView<'_>],
        decisions: &mut [Option<Decision>],
    ) -> SmallVec<[Result<Applied, CheckError>; 1]> {
        let Some((last, before)) = plans.split_last() else { return SmallVec::new() };
        let in_windows: SmallVec<[Check<'_>; 2]>;
        let mut last_in_windows = *last;
        if has_calendar(last.checks) {
            in_windows = last.in_windows(self.store().clock().now());
            last_in_windows = last.with_checks(&in_windows);
        }
        let mut outcomes = {
            let sets: SmallVec<[Set<'_>; 1]> =
                before.iter().chain([&last_in_windows]).map(PlanView::set).collect();
            let mut batch = Batch::new(&sets, decisions);
            let failure = self.apply_batch(&mut batch).await.err();
            let mut outcomes: SmallVec<_> = batch.applied().iter().copied().map(Ok).collect();
            if let Some(failure) = failure {
                outcomes.resize(sets.len(), Err(failure));
            }
            outcomes
        };
        let mut tries = 1;
        while let Some(Ok(Applied { ruling: Ruling::Stale, now, .. })) = outcomes.last() {
            let retried = if tries < CALENDAR_TRIES {
                let in_windows = last.in_windows(*now);
                let set = last.with_checks(&in_windows).set();
                let first = decisions.len() - in_windows.len();
                let mut batch = Batch::new(std::slice::from_ref(&set), &mut decisions[first..]);
                let outcome = self.apply_batch(&mut batch).await;
                outcome.map(|()| batch.applied()[0])
            } else {
                Err(CheckError::CalendarRace)
            };
            outcomes.pop();
            outcomes.push(retried);
            tries += 1;
        }
        for outcome in &mut outcomes {
            if matches!(outcome, Ok(Applied { ruling: Ruling::Contradictory, .. })) {
                *outcome = Err(CheckError::ContradictoryLimits);
            }
        }
        outcomes
    }

    /// Decides a batch, without a future if the store can.
    async fn apply_batch(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        self.store().try_apply(batch);
        if batch.is_decided() { Ok(()) } else { self.store().apply(batch).await }
    }
}

fn validate(check: &Check<'_>) -> Result<(), CheckError> {
    let bytes = check.key().len();
    if bytes > Limiter::<Memory>::MAX_KEY {
        return Err(CheckError::KeyTooLong { bytes });
    }
    Ok(())
}

/// Checks the size of a plan and of its keys.
fn validate_all(checks: &[Check<'_>]) -> Result<(), CheckError> {
    if checks.len() > Limiter::<Memory>::MAX_CHECKS {
        return Err(CheckError::TooManyChecks { found: checks.len() });
    }
    checks.iter().try_for_each(validate)
}

/// Returns whether a check can be passed to the store as it is.
#[inline]
fn is_simple(check: &Check<'_>) -> bool {
    validate(check).is_ok() && check.limit().calendar().is_none()
}

/// Returns whether a plan of these checks can be passed to the store as it is.
#[inline]
fn are_simple(checks: &[Check<'_>]) -> bool {
    checks.len() <= Limiter::<Memory>::MAX_CHECKS && checks.iter().all(is_simple)
}

/// Returns whether any of these checks counts in calendar periods.
fn has_calendar(checks: &[Check<'_>]) -> bool {
    checks.iter().any(|check| check.limit().calendar().is_some())
}

impl<'p> PlanView<'p> {
    /// Returns the checks with their calendar windows at this time.
    fn in_windows(&self, now: Time) -> SmallVec<[Check<'p>; 2]> {
        self.checks.iter().map(|check| in_period(*check, now)).collect()
    }
}

/// Returns the check with the calendar window of `now`, unless it has one that contains it.
fn in_period(check: Check<'_>, now: Time) -> Check<'_> {
    match check.limit().calendar() {
        None => check,
        Some(_) if check.period().is_some_and(|period| period.contains(now)) => check,
        Some(per) => check.within(match check.limit().named_calendar() {
            None => period_at(per, now),
            Some(calendar) => calendar.period_at(per, now),
        }),
    }
}
