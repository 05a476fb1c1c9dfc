//! From a question to the store and back: at once if the store can, else by waiting for it.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use sluicegate_core::{Ask, Check, Cost, Decision, Id, Limit, Period, Receipt, Ruling, Set, Time};
use smallvec::SmallVec;

use crate::calendar::period_at;
use crate::clock::Clock;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::memory::Memory;
use crate::plan::{Manner, Plan};
use crate::store::{Applied, Store};
use crate::verdict::Verdict;

impl<S: Store> Limiter<S> {
    /// Gives a charge back without anybody waiting for it to be done.
    pub(crate) fn give_back(&self, limit: &Limit, key: &[u8], receipt: Receipt) {
        let ask = Ask::Settle { receipt, actual: Cost::ZERO };
        let check = Check::new(limit, key).ask(ask);
        self.store().apply_detached(in_period(check, self.store().clock().now()));
    }

    pub(crate) async fn ask(&self, check: &Check<'_>) -> Result<Decision, CheckError> {
        if let Some(decision) = self.ask_any_at_once(check) {
            return Ok(decision);
        }
        let mut decisions = [None];
        self.apply(std::slice::from_ref(check), Manner::default(), &mut decisions).await?;
        let [decision] = decisions;
        Ok(decision.unwrap_or_else(|| unreachable!("a lone check is always asked")))
    }

    pub(crate) async fn ask_all(&self, plan: &Plan<'_>) -> Result<Verdict, CheckError> {
        let mut verdict = Verdict::unresolved(plan.checks().len());
        let applied = self.apply(plan.checks(), plan.manner(), verdict.places()).await?;
        verdict.resolve(plan.checks(), applied);
        Ok(verdict)
    }

    /// The verdict, if the store has it without waiting.
    #[inline(always)]
    pub(crate) fn ask_all_at_once(&self, plan: &Plan<'_>) -> Option<Verdict> {
        let checks = plan.checks();
        if !Self::is_simple(checks) {
            return None;
        }
        let mut verdict = Verdict::unresolved(checks.len());
        let set = plan.manner().set_of(checks);
        let applied = self.store().apply_at_once(&set, verdict.places())?;
        match applied.ruling {
            Ruling::Admitted | Ruling::Refused => {
                verdict.resolve(plan.checks(), applied);
                Some(verdict)
            }
            // Nothing was charged; there is something to be said about it.
            Ruling::Stale | Ruling::Contradictory => None,
        }
    }

    /// The answer of any limit, if the store has it without waiting.
    #[inline(never)]
    fn ask_any_at_once(&self, check: &Check<'_>) -> Option<Decision> {
        validate(check).ok()?;
        let calendar = check.limit().calendar().is_some();
        let mut time = if calendar { self.store().clock().now() } else { Time::EPOCH };
        let mut decisions = [None];
        for _ in 0..CALENDAR_TRIES {
            let check = in_period(*check, time);
            let set = Set::one(&check, fresh_id());
            match self.store().apply_at_once(&set, &mut decisions)? {
                Applied { ruling: Ruling::Stale, now, .. } => time = now,
                _ => return decisions[0],
            }
        }
        None
    }

    /// The answer of a bucket, if the store has it without waiting.
    #[inline(always)]
    pub(crate) fn ask_at_once(&self, check: &Check<'_>) -> Option<Decision> {
        validate(check).ok()?;
        let (_, decision) = self.store().apply_one_at_once(&Set::one(check, fresh_id()))?;
        Some(decision)
    }

    /// Asks checks that have nothing to do with each other.
    pub(crate) async fn ask_many(&self, checks: &[Check<'_>]) -> Result<Vec<Decision>, CheckError> {
        // All keys are looked at first: either every check is asked or none is.
        checks.iter().try_for_each(validate)?;
        let mut answers = Vec::with_capacity(checks.len());
        for checks in checks.chunks(S::TOGETHER) {
            let sets: SmallVec<[Set<'_>; ASKED_TOGETHER]> =
                checks.iter().map(|check| Set::one(check, fresh_id())).collect();
            let done = self.store().apply_each_at_once(&sets, &mut answers);
            if done < checks.len() {
                self.ask_each(&checks[done..], &mut answers).await?;
            }
        }
        Ok(answers)
    }

    /// Asks checks that have nothing to do with each other, up to the first that has to wait.
    pub(crate) fn ask_many_at_once(
        &self,
        checks: &[Check<'_>],
        decisions: &mut Vec<Decision>,
    ) -> usize {
        // One alone has nothing to be fetched together with.
        if let [check] = checks
            && let Some(decision) = self.ask_at_once(check)
        {
            decisions.push(decision);
            return 1;
        }
        let valid = checks.iter().take_while(|check| validate(check).is_ok()).count();
        let mut done = 0;
        for checks in checks[..valid].chunks(ASKED_TOGETHER) {
            let sets: SmallVec<[Set<'_>; ASKED_TOGETHER]> =
                checks.iter().map(|check| Set::one(check, fresh_id())).collect();
            let made = self.store().apply_each_at_once(&sets, decisions);
            done += made;
            if made < checks.len() {
                break;
            }
        }
        done
    }

    /// Asks those of them that could not be answered at once.
    async fn ask_each(
        &self,
        checks: &[Check<'_>],
        answers: &mut Vec<Decision>,
    ) -> Result<(), CheckError> {
        let calendar = has_calendar(checks);
        let now = if calendar { self.store().clock().now() } else { Time::EPOCH };
        let within: Vec<Check<'_>> = checks.iter().map(|check| in_period(*check, now)).collect();
        let sets: Vec<Set<'_>> = within.iter().map(|check| Set::one(check, fresh_id())).collect();
        let mut decisions = vec![None; checks.len()];
        let mut applied = Vec::with_capacity(checks.len());
        self.store().apply_many(&sets, &mut decisions, &mut applied).await?;
        for ((check, decision), applied) in checks.iter().zip(decisions).zip(applied) {
            answers.push(match decision {
                Some(decision) if applied.ruling != Ruling::Stale => decision,
                // Its calendar window ended meanwhile.
                _ => self.ask(check).await?,
            });
        }
        Ok(())
    }

    /// Decides plans in their order, each as if it had been sent alone.
    ///
    /// The store may find that a calendar period is stale; such a plan is then sent again. Hence a
    /// plan with a calendar ends its call: everything behind it is sent once it has been decided.
    pub(crate) async fn ask_plans(&self, plans: &[Plan<'_>]) -> Vec<Result<Verdict, CheckError>> {
        let mut verdicts = Vec::with_capacity(plans.len());
        for plans in plans.chunks(S::TOGETHER) {
            for plans in plans.split_inclusive(|plan| !Self::is_simple(plan.checks())) {
                match plans.split_last() {
                    // An invalid plan is not sent: the way of a single plan returns its error.
                    Some((invalid, before)) if validate_all(invalid.checks()).is_err() => {
                        self.ask_together(before, &mut verdicts).await;
                        verdicts.push(self.ask_all(invalid).await);
                    }
                    _ => self.ask_together(plans, &mut verdicts).await,
                }
            }
        }
        verdicts
    }

    /// Decides valid plans in one call to the store; only the last may have a calendar.
    async fn ask_together(
        &self,
        plans: &[Plan<'_>],
        verdicts: &mut Vec<Result<Verdict, CheckError>>,
    ) {
        let Some((last, before)) = plans.split_last() else { return };
        let mut within: SmallVec<[Check<'_>; 2]> = SmallVec::new();
        if has_calendar(last.checks()) {
            let now = self.store().clock().now();
            within.extend(last.checks().iter().map(|check| in_period(*check, now)));
        }
        let last_checks = if within.is_empty() { last.checks() } else { &within };
        let sets: SmallVec<[Set<'_>; ASKED_TOGETHER]> = before
            .iter()
            .map(|plan| plan.manner().set_of(plan.checks()))
            .chain([last.manner().set_of(last_checks)])
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
                (Some(Applied { ruling: Ruling::Stale, .. }), _) => self.ask_all(plan).await,
                (Some(applied), _) => {
                    let mut verdict = Verdict::unresolved(own.len());
                    verdict.places().copy_from_slice(own);
                    verdict.resolve(plan.checks(), applied);
                    Ok(verdict)
                }
                (None, Err(error)) => Err(error.clone()),
                (None, Ok(())) => unreachable!("a store tells what it did with each set"),
            });
        }
    }

    /// Whether checks can be handed to the store as they are.
    #[inline]
    fn is_simple(checks: &[Check<'_>]) -> bool {
        let simple =
            |check: &Check<'_>| validate(check).is_ok() && check.limit().calendar().is_none();
        checks.len() <= Self::MAX_CHECKS && checks.iter().all(simple)
    }

    /// Asks for several checks in one step.
    async fn apply(
        &self,
        checks: &[Check<'_>],
        manner: Manner,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        validate_all(checks)?;
        // Once for the window this process believes in, then for the store's own time. Without
        // a calendar the store's is the only clock that has to be read.
        let calendar = has_calendar(checks);
        let mut within: SmallVec<[Check<'_>; 2]> = SmallVec::new();
        let mut time = if calendar { self.store().clock().now() } else { Time::EPOCH };
        for _ in 0..CALENDAR_TRIES {
            if calendar {
                within = checks.iter().map(|check| in_period(*check, time)).collect();
            }
            let set = manner.set_of(if calendar { &within } else { checks });
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

/// How many sets are handed to a store without asking for memory.
const ASKED_TOGETHER: usize = 16;
/// How often a calendar window is worked out anew when the store's time lies outside it.
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

/// Whether any of these checks counts in calendar periods.
fn has_calendar(checks: &[Check<'_>]) -> bool {
    checks.iter().any(|check| check.limit().calendar().is_some())
}

/// The check with the calendar window that `now` falls into, unless it came with one around it.
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

/// An id that no other set has, without asking other threads: for stores that make sets of their
/// own.
#[inline]
pub fn fresh_id() -> Id {
    thread_local! {
        /// A number that no other thread has, and how many ids were made; the low byte of the
        /// count is left to the checks of the set.
        static IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    #[cold]
    fn another_thread() -> u64 {
        RandomState::new().hash_one("sluicegate") | 1
    }
    let (thread, count) = IDS.get();
    let thread = if thread == 0 { another_thread() } else { thread };
    IDS.set((thread, count.wrapping_add(1 << 8)));
    Id::from_bits(u128::from(thread) << 64 | u128::from(count))
}
