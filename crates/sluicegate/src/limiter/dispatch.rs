//! Dispatch of checks to the store: synchronously if it can decide, else by waiting.

use sluicegate_core::{
    Check, Cost, Decision, Limit, Operation, Period, Receipt, Ruling, Set, Time,
};
use smallvec::SmallVec;

use crate::calendar::period_at;
use crate::clock::Clock;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::memory::Memory;
use crate::plan::{Plan, PlanOptions};
use crate::set_id::next_set_id;
use crate::store::{Applied, Store};
use crate::verdict::Verdict;

impl<S: Store> Limiter<S> {
    /// Refunds a charge without waiting for the result.
    pub(crate) fn refund_detached(&self, limit: &Limit, key: &[u8], receipt: Receipt) {
        let run = Operation::Settle { receipt, actual: Cost::ZERO };
        let check = Check::new(limit, key).with_operation(run);
        self.store().apply_detached(in_period(check, self.store().clock().now()));
    }

    pub(crate) async fn run(&self, check: &Check<'_>) -> Result<Decision, CheckError> {
        if let Some(decision) = self.try_run_any(check) {
            return Ok(decision);
        }
        let mut decisions = [None];
        self.apply(std::slice::from_ref(check), PlanOptions::default(), &mut decisions).await?;
        let [decision] = decisions;
        Ok(decision.unwrap_or_else(|| unreachable!("a lone check is always asked")))
    }

    pub(crate) async fn run_plan(&self, plan: &Plan<'_>) -> Result<Verdict, CheckError> {
        let mut verdict = Verdict::unresolved(plan.checks().len());
        let applied = self.apply(plan.checks(), plan.options(), verdict.places()).await?;
        verdict.resolve(plan.checks(), applied);
        Ok(verdict)
    }

    /// Returns the verdict if the store can decide without waiting.
    #[inline(always)]
    pub(crate) fn try_run_plan(&self, plan: &Plan<'_>) -> Option<Verdict> {
        let checks = plan.checks();
        if !Self::is_simple(checks) {
            return None;
        }
        let mut verdict = Verdict::unresolved(checks.len());
        let set = plan.options().set_of(checks);
        let applied = self.store().apply_at_once(&set, verdict.places())?;
        match applied.ruling {
            Ruling::Admitted | Ruling::Refused => {
                verdict.resolve(plan.checks(), applied);
                Some(verdict)
            }
            // Nothing was charged; the asynchronous path retries or returns the error.
            Ruling::Stale | Ruling::Contradictory => None,
        }
    }

    /// Returns the decision of any limit if the store can decide without waiting.
    #[inline(never)]
    fn try_run_any(&self, check: &Check<'_>) -> Option<Decision> {
        validate(check).ok()?;
        let calendar = check.limit().calendar().is_some();
        let mut time = if calendar { self.store().clock().now() } else { Time::EPOCH };
        let mut decisions = [None];
        for _ in 0..CALENDAR_TRIES {
            let check = in_period(*check, time);
            let set = Set::one(&check, next_set_id());
            match self.store().apply_at_once(&set, &mut decisions)? {
                Applied { ruling: Ruling::Stale, now, .. } => time = now,
                _ => return decisions[0],
            }
        }
        None
    }

    /// Returns the decision of a bucket if the store can decide without waiting.
    #[inline(always)]
    pub(crate) fn try_run(&self, check: &Check<'_>) -> Option<Decision> {
        validate(check).ok()?;
        let (_, decision) = self.store().apply_one_at_once(&Set::one(check, next_set_id()))?;
        Some(decision)
    }

    /// Decides independent checks, up to the first that has to wait.
    pub(crate) fn try_run_many(
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
        let valid = checks.iter().take_while(|check| validate(check).is_ok()).count();
        let mut done = 0;
        for checks in checks[..valid].chunks(SETS_PER_CALL) {
            let sets: SmallVec<[Set<'_>; SETS_PER_CALL]> =
                checks.iter().map(|check| Set::one(check, next_set_id())).collect();
            let made = self.store().apply_each_at_once(&sets, decisions);
            done += made;
            if made < checks.len() {
                break;
            }
        }
        done
    }

    /// Decides plans in their order, each as if it had been sent alone.
    ///
    /// The store may find that a calendar period is stale; such a plan is then sent again. Hence a
    /// plan with a calendar ends its call: the plans behind it are sent once it has been decided.
    pub(crate) async fn run_plans(&self, plans: &[Plan<'_>]) -> Vec<Result<Verdict, CheckError>> {
        let mut verdicts = Vec::with_capacity(plans.len());
        for plans in plans.chunks(S::TOGETHER) {
            for plans in plans.split_inclusive(|plan| !Self::is_simple(plan.checks())) {
                match plans.split_last() {
                    // An invalid plan is not sent: the path of a single plan returns its error.
                    Some((invalid, before)) if validate_all(invalid.checks()).is_err() => {
                        self.run_batch(before, &mut verdicts).await;
                        verdicts.push(self.run_plan(invalid).await);
                    }
                    _ => self.run_batch(plans, &mut verdicts).await,
                }
            }
        }
        verdicts
    }

    /// Decides valid plans in one call to the store; only the last may have a calendar.
    async fn run_batch(&self, plans: &[Plan<'_>], verdicts: &mut Vec<Result<Verdict, CheckError>>) {
        let Some((last, before)) = plans.split_last() else { return };
        let mut within: SmallVec<[Check<'_>; 2]> = SmallVec::new();
        if has_calendar(last.checks()) {
            let now = self.store().clock().now();
            within.extend(last.checks().iter().map(|check| in_period(*check, now)));
        }
        let last_checks = if within.is_empty() { last.checks() } else { &within };
        let sets: SmallVec<[Set<'_>; SETS_PER_CALL]> = before
            .iter()
            .map(|plan| plan.options().set_of(plan.checks()))
            .chain([last.options().set_of(last_checks)])
            .collect();
        let mut decisions = vec![None; sets.iter().map(|set| set.checks().len()).sum()];
        let mut applied = Vec::with_capacity(sets.len());
        let outcome = self.store().apply_many(&sets, &mut decisions, &mut applied).await;
        let (mut decisions, mut applied) = (&decisions[..], applied.into_iter());
        for plan in plans {
            let (own, rest) = decisions.split_at(plan.checks().len());
            decisions = rest;
            verdicts.push(match (applied.next(), &outcome) {
                (Some(Applied { ruling: Ruling::Contradictory, .. }), _) => {
                    Err(CheckError::ContradictoryLimits)
                }
                (Some(Applied { ruling: Ruling::Stale, .. }), _) => self.run_plan(plan).await,
                (Some(applied), _) => {
                    let mut verdict = Verdict::unresolved(own.len());
                    verdict.places().copy_from_slice(own);
                    verdict.resolve(plan.checks(), applied);
                    Ok(verdict)
                }
                (None, Err(error)) => Err(error.clone()),
                (None, Ok(())) => unreachable!("a store reports a result for each set"),
            });
        }
    }

    /// Returns whether checks can be passed to the store as they are.
    #[inline]
    fn is_simple(checks: &[Check<'_>]) -> bool {
        let simple =
            |check: &Check<'_>| validate(check).is_ok() && check.limit().calendar().is_none();
        checks.len() <= Self::MAX_CHECKS && checks.iter().all(simple)
    }

    /// Applies several checks in one step.
    async fn apply(
        &self,
        checks: &[Check<'_>],
        options: PlanOptions,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        validate_all(checks)?;
        // First with this process's estimate of the window, then with the store's own time.
        // Without a calendar the store's is the only clock that has to be read.
        let calendar = has_calendar(checks);
        let mut within: SmallVec<[Check<'_>; 2]> = SmallVec::new();
        let mut time = if calendar { self.store().clock().now() } else { Time::EPOCH };
        for _ in 0..CALENDAR_TRIES {
            if calendar {
                within = checks.iter().map(|check| in_period(*check, time)).collect();
            }
            let set = options.set_of(if calendar { &within } else { checks });
            let applied = self.store().apply(&set, decisions).await?;
            match applied.ruling {
                Ruling::Stale => time = applied.now,
                Ruling::Contradictory => return Err(CheckError::ContradictoryLimits),
                Ruling::Admitted | Ruling::Refused => return Ok(applied),
            }
        }
        Err(CheckError::CalendarRace)
    }
}

/// The number of sets passed to a store without allocating.
const SETS_PER_CALL: usize = 16;
/// The number of retries when the store's time is outside the calendar window.
const CALENDAR_TRIES: usize = 4;

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

/// Returns whether any of these checks counts in calendar periods.
fn has_calendar(checks: &[Check<'_>]) -> bool {
    checks.iter().any(|check| check.limit().calendar().is_some())
}

/// Returns the check with the calendar window of `now`, unless it has one that contains it.
fn in_period(check: Check<'_>, now: Time) -> Check<'_> {
    match check.limit().calendar() {
        None => check,
        Some(_) if check.period().is_some_and(|period: Period| period.contains(now)) => check,
        Some(per) => check.within(match check.limit().named_calendar() {
            None => period_at(per, now),
            Some(calendar) => calendar.period_at(per, now),
        }),
    }
}
