//! Dispatch of checks to the store: synchronously if it can decide, else by waiting.

use std::ops::Range;

use sluicegate_core::{Check, Cost, Decision, Limit, Operation, Receipt, Ruling, Set, Time};
use smallvec::SmallVec;

use crate::calendar::period_at;
use crate::clock::Clock;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::memory::Memory;
use crate::pending::Attempt;
use crate::plan::{Plan, PlanView};
use crate::set_id::next_set_id;
use crate::store::{Applied, Batch, Store};
use crate::verdict::Verdict;

/// The number of sets passed to a store without allocating.
const SETS_PER_CALL: usize = 16;
/// The number of retries when the store's time is outside the calendar window.
const CALENDAR_TRIES: usize = 4;

/// A single check for a limiter.
pub(super) struct CheckOne<'a, S> {
    pub(super) limiter: &'a Limiter<S>,
    pub(super) check: Check<'a>,
}

impl<S: Store> Attempt for CheckOne<'_, S> {
    type Answer = Decision;

    #[inline(always)]
    fn attempt(&self) -> Option<Decision> {
        self.limiter.try_run(&self.check)
    }
}

/// A plan for a limiter.
pub(super) struct CheckPlan<'a, S> {
    pub(super) limiter: &'a Limiter<S>,
    pub(super) plan: PlanView<'a>,
}

impl<S: Store> Attempt for CheckPlan<'_, S> {
    type Answer = Verdict;

    #[inline(always)]
    fn attempt(&self) -> Option<Verdict> {
        self.limiter.try_run_plan(self.plan)
    }
}

/// The outcome of each set of some plans.
type SetOutcomes = SmallVec<[Result<Applied, CheckError>; 1]>;

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
        mut decided: impl FnMut(&Decision),
    ) -> usize {
        // A single check has nothing to be prefetched with.
        if let [check] = checks
            && let Some(decision) = self.try_run(check)
        {
            decided(&decision);
            return 1;
        }
        let mut count = 0;
        for checks in checks.chunks(SETS_PER_CALL) {
            let simple = checks.iter().take_while(|check| is_simple(check));
            let sets: SmallVec<[Set<'_>; SETS_PER_CALL]> =
                simple.map(|check| Set::one(check, next_set_id())).collect();
            let mut decisions = [None; SETS_PER_CALL];
            let mut batch = Batch::new(&sets, &mut decisions);
            self.store().try_apply(&mut batch);
            let made = batch.applied().len();
            decisions.iter().take(made).flatten().for_each(&mut decided);
            count += made;
            if made < checks.len() {
                break;
            }
        }
        count
    }

    /// Returns the verdict on a plan without shadows if the store can decide without waiting.
    #[inline(always)]
    pub(crate) fn try_run_plan(&self, plan: PlanView<'_>) -> Option<Verdict> {
        if plan.has_shadows() || !is_simple_plan(plan) {
            return None;
        }
        let mut verdict = Verdict::unresolved(plan.checks.len());
        let set = plan.set(0..plan.checks.len());
        let mut batch = Batch::new(std::slice::from_ref(&set), verdict.places());
        self.store().try_apply(&mut batch);
        let applied = *batch.applied().first()?;
        if applied.ruling == Ruling::Contradictory {
            // Nothing was charged; the asynchronous path returns the error.
            return None;
        }
        verdict.resolve_required(plan.checks, applied);
        Some(verdict)
    }

    pub(crate) async fn run(&self, check: &Check<'_>) -> Result<Decision, CheckError> {
        if let Some(decision) = self.try_run(check) {
            return Ok(decision);
        }
        validate(check)?;
        let mut decisions = [None];
        self.apply_set(&Set::one(check, next_set_id()), &mut decisions, None).await?;
        let [decision] = decisions;
        Ok(decision.unwrap_or_else(|| unreachable!("a lone check is always decided")))
    }

    pub(crate) async fn run_plan(&self, plan: PlanView<'_>) -> Result<Verdict, CheckError> {
        validate_plan(plan)?;
        let mut verdict = Verdict::unresolved(plan.checks.len());
        if plan.has_shadows() || plan.checks.is_empty() {
            // Boxed, so that the future of most plans stays small.
            let plans = std::slice::from_ref(&plan);
            let outcomes = Box::pin(self.apply(plans, verdict.places())).await;
            resolve(&mut verdict, plan, &mut outcomes.into_iter())?;
            Box::pin(self.release_shadow_slots(plan, &verdict)).await;
        } else {
            let set = plan.set(0..plan.checks.len());
            let applied = self.apply_set(&set, verdict.places(), None).await?;
            verdict.resolve_required(plan.checks, applied);
        }
        Ok(verdict)
    }

    /// Decides plans in their order, each as if it had been sent alone.
    pub(crate) async fn run_batch(&self, plans: &[Plan<'_>]) -> Vec<Result<Verdict, CheckError>> {
        let mut verdicts = Vec::with_capacity(plans.len());
        for mut plans in plans.chunks(S::BATCH) {
            while !plans.is_empty() {
                let last = (0..plans.len()).find(|at| ends_call(&plans[*at], &plans[*at + 1..]));
                let (call, later) = plans.split_at(last.map_or(plans.len(), |last| last + 1));
                plans = later;
                match call.split_last() {
                    // An invalid plan is not sent: the path of a single plan returns its error.
                    Some((invalid, before)) if validate_plan(invalid.view()).is_err() => {
                        self.run_call(before, &mut verdicts).await;
                        verdicts.push(self.run_plan(invalid.view()).await);
                    }
                    _ => self.run_call(call, &mut verdicts).await,
                }
            }
        }
        verdicts
    }

    /// Decides valid plans in one call; only the last may have a calendar.
    async fn run_call(&self, plans: &[Plan<'_>], verdicts: &mut Vec<Result<Verdict, CheckError>>) {
        let views: SmallVec<[PlanView<'_>; SETS_PER_CALL]> = plans.iter().map(Plan::view).collect();
        let mut decisions = vec![None; views.iter().map(|plan| plan.checks.len()).sum()];
        let mut outcomes = self.apply(&views, &mut decisions).await.into_iter();
        let mut rest = &decisions[..];
        for plan in views {
            let (own, after) = rest.split_at(plan.checks.len());
            rest = after;
            let mut verdict = Verdict::unresolved(own.len());
            verdict.places().copy_from_slice(own);
            let resolved = resolve(&mut verdict, plan, &mut outcomes);
            if resolved.is_ok() {
                self.release_shadow_slots(plan, &verdict).await;
            }
            verdicts.push(resolved.map(|()| verdict));
        }
    }

    /// Decides valid plans in one call; only the last may have a calendar.
    ///
    /// Its windows are those of this process's estimate of the time at first, and of the store's
    /// own time if that is outside of them. Without a calendar no other clock has to be read.
    async fn apply(
        &self,
        plans: &[PlanView<'_>],
        decisions: &mut [Option<Decision>],
    ) -> SetOutcomes {
        let Some((last, before)) = plans.split_last() else { return SmallVec::new() };
        let in_windows: SmallVec<[Check<'_>; 2]>;
        let mut last_in_windows = *last;
        if has_calendar(last.checks) {
            let now = self.store().clock().now();
            in_windows = last.checks.iter().map(|check| in_period(*check, now)).collect();
            last_in_windows = last.with_checks(&in_windows);
        }
        let all = before.iter().chain([&last_in_windows]);
        let sets: SmallVec<[Set<'_>; 1]> = all.flat_map(PlanView::sets).collect();
        let mut batch = Batch::new(&sets, decisions);
        if before.is_empty() {
            batch = batch.of_one_request();
        }
        let failure = self.apply_batch(&mut batch).await.err();
        let mut outcomes: SmallVec<_> = batch.applied().iter().copied().map(Ok).collect();
        if let Some(failure) = failure {
            outcomes.resize(sets.len(), Err(failure));
        }
        let mut rest = decisions;
        for (set, outcome) in sets.iter().zip(&mut outcomes) {
            let (own, after) = rest.split_at_mut(set.checks().len());
            rest = after;
            match outcome {
                Ok(Applied { ruling: Ruling::Stale, now, .. }) => {
                    *outcome = self.apply_set(set, own, Some(*now)).await;
                }
                Ok(Applied { ruling: Ruling::Contradictory, .. }) => {
                    *outcome = Err(CheckError::ContradictoryLimits);
                }
                _ => {}
            }
        }
        outcomes
    }

    /// Decides one set.
    ///
    /// Its windows are those of `now`, the store's time, or else of this process's estimate of it;
    /// if the store's time is outside of them, the set is sent again.
    async fn apply_set(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        mut now: Option<Time>,
    ) -> Result<Applied, CheckError> {
        let calendar = has_calendar(set.checks());
        for _ in 0..CALENDAR_TRIES {
            let in_windows: SmallVec<[Check<'_>; 2]>;
            let mut own = *set;
            if calendar {
                let now = now.unwrap_or_else(|| self.store().clock().now());
                in_windows = set.checks().iter().map(|check| in_period(*check, now)).collect();
                own = set.with_checks(&in_windows);
            }
            let mut batch = Batch::new(std::slice::from_ref(&own), decisions);
            self.apply_batch(&mut batch).await?;
            match batch.applied()[0] {
                Applied { ruling: Ruling::Stale, now: later, .. } => now = Some(later),
                Applied { ruling: Ruling::Contradictory, .. } => {
                    return Err(CheckError::ContradictoryLimits);
                }
                applied => return Ok(applied),
            }
        }
        Err(CheckError::CalendarRace)
    }

    /// Releases the slots that shadows took for a refused request, which ends at once.
    async fn release_shadow_slots(&self, plan: PlanView<'_>, verdict: &Verdict) {
        if verdict.is_allowed() || plan.shadow_checks().is_empty() {
            return;
        }
        let shadows = plan.checks.iter().zip(verdict.decisions()).skip(plan.required());
        let held = shadows.filter(|(check, _)| check.limit().holds());
        let releases: SmallVec<[Check<'_>; 1]> = held
            .filter_map(|(check, decision)| {
                let receipt = *decision.as_ref()?.receipt()?;
                let release = Operation::Settle { receipt, actual: Cost::ZERO };
                Some(check.alone().with_operation(release))
            })
            .collect();
        if !releases.is_empty() {
            if plan.has_deadline() {
                // The caller does not wait for the release beyond it.
                releases.iter().for_each(|release| self.store().apply_detached(*release));
                return;
            }
            let set = Set::independent(&releases, next_set_id());
            let mut decisions: SmallVec<[Option<Decision>; 1]> =
                releases.iter().map(|_| None).collect();
            let mut batch = Batch::new(std::slice::from_ref(&set), &mut decisions);
            // A slot that cannot be released comes back when its lease ends.
            let _ = self.apply_batch(&mut batch).await;
        }
    }

    /// Decides a batch, without a future if the store can.
    async fn apply_batch(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        self.store().try_apply(batch);
        if !batch.is_decided() {
            self.store().apply(batch).await?;
            assert!(batch.is_decided(), "a store that does not fail decides every set");
        }
        Ok(())
    }
}

fn validate(check: &Check<'_>) -> Result<(), CheckError> {
    let bytes = check.key().len();
    if bytes > Limiter::<Memory>::MAX_KEY {
        return Err(CheckError::KeyTooLong { bytes });
    }
    Ok(())
}

/// Resolves a plan by the outcomes of its sets; only that of the requirements can fail it.
fn resolve(
    verdict: &mut Verdict,
    plan: PlanView<'_>,
    outcomes: &mut impl Iterator<Item = Result<Applied, CheckError>>,
) -> Result<(), CheckError> {
    let required = if plan.required() > 0 { outcomes.next() } else { None };
    // All outcomes of the plan are taken, also if it fails.
    let shadows: SmallVec<[Option<Applied>; 2]> =
        plan.shadow_ranges().map(|_| outcomes.next()?.ok()).collect();
    verdict.resolve(plan, required.transpose()?, shadows.into_iter());
    Ok(())
}

/// Checks the size of a plan and of its keys, and that its sets share no counter.
fn validate_plan(plan: PlanView<'_>) -> Result<(), CheckError> {
    if plan.checks.len() > Limiter::<Memory>::MAX_CHECKS {
        return Err(CheckError::TooManyChecks { found: plan.checks.len() });
    }
    plan.checks.iter().try_for_each(validate)?;
    let is_shared = |range: Range<usize>| {
        let (before, own) = (&plan.checks[..range.start], &plan.checks[range]);
        own.iter().any(|check| before.iter().any(|other| is_same_counter(check, other)))
    };
    if plan.shadow_ranges().any(is_shared) {
        return Err(CheckError::ContradictoryLimits);
    }
    Ok(())
}

fn is_same_counter(check: &Check<'_>, other: &Check<'_>) -> bool {
    let same = check.limit().name_digest() == other.limit().name_digest();
    same && check.key() == other.key() && check.limit().name() == other.limit().name()
}

/// Returns whether the plans behind this one are sent only once it has been decided.
///
/// The store may find that a calendar window of a plan is stale; it is then sent again. A slot that
/// a shadow took for a refused request is released, which a later plan may depend on.
fn ends_call(plan: &Plan<'_>, later: &[Plan<'_>]) -> bool {
    let view = plan.view();
    let slots = || view.shadow_checks().iter().filter(|check| check.limit().holds());
    let releases = |check: &Check<'_>| slots().any(|slot| is_same_counter(slot, check));
    !is_simple_plan(view)
        || slots().next().is_some() && later.iter().any(|it| it.checks().iter().any(releases))
}

/// Returns whether a check can be passed to the store as it is.
#[inline]
fn is_simple(check: &Check<'_>) -> bool {
    validate(check).is_ok() && check.limit().calendar().is_none()
}

/// Returns whether a plan is valid and can be passed to the store as it is.
#[inline]
fn is_simple_plan(plan: PlanView<'_>) -> bool {
    plan.checks.iter().all(is_simple)
        && if plan.has_shadows() {
            validate_plan(plan).is_ok()
        } else {
            plan.checks.len() <= Limiter::<Memory>::MAX_CHECKS
        }
}

/// Returns whether any of these checks counts in calendar periods.
fn has_calendar(checks: &[Check<'_>]) -> bool {
    checks.iter().any(|check| check.limit().calendar().is_some())
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
