//! The limiter: plan in, verdict out, with one step to the store between.

use std::cell::Cell;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tollgate_core::{Ask, Check, Cost, Decision, Id, Limit, Period, Receipt, Ruling, Set, Time};

use crate::calendar::period_at;
use crate::clock::Clock;
use crate::deciding::{Deciding, Question, Waiting};
use crate::error::CheckError;
use crate::in_flight::{Hold, InFlight};
use crate::memory::Memory;
use crate::plan::Plan;
use crate::question::{Lone, Whole};
use crate::store::{Applied, Store};
use crate::verdict::Verdict;
use crate::waiting::wait_for_turn;

/// Decides, for every request of every caller: now, later, or not.
///
/// Cheap to clone; clones share their store.
///
/// ```
/// use tollgate::{Check, Limit, Limiter};
///
/// let limiter = Limiter::in_memory();
/// let per_user = Limit::token_bucket("per-user", "100/min burst 20".parse()?)?;
///
/// let decision = limiter.check(Check::new(&per_user, "user:42")).now()?;
/// assert!(decision.is_allowed());
/// assert_eq!(decision.remaining(), 19);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Limiter<S = Memory> {
    store: Arc<S>,
}

impl<S> Clone for Limiter<S> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store) }
    }
}

impl Limiter {
    /// A limiter on an empty store in this process' memory.
    pub fn in_memory() -> Self {
        Self::new(Memory::new())
    }
}

impl<S> Limiter<S> {
    /// The longest key, in bytes.
    pub const MAX_KEY: usize = 4_096;
    /// The most checks one plan may have.
    pub const MAX_CHECKS: usize = 64;
}

impl<S: Store> Limiter<S> {
    /// A limiter on this store.
    pub fn new(store: S) -> Self {
        Self { store: Arc::new(store) }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Asks one limit about one key.
    #[inline]
    pub fn check<'a>(
        &'a self,
        check: Check<'a>,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        Deciding::new(Lone {
            limiter: self,
            check,
            wait: |limiter: &'a Self, check| async move { limiter.ask(&check).await },
        })
    }

    /// Asks everything a request owes, in one step: all of it is charged, or nothing is.
    ///
    /// ```
    /// use tollgate::{Check, Limit, Limiter, Plan};
    ///
    /// let limiter = Limiter::in_memory();
    /// let per_user = Limit::token_bucket("per-user", "100/min".parse()?)?;
    /// let per_address = Limit::token_bucket("per-address", "2/min".parse()?)?;
    ///
    /// let mut plan = Plan::new();
    /// plan.require(Check::new(&per_user, "user:42"));
    /// plan.require(Check::new(&per_address, "203.0.113.9"));
    /// for _ in 0..2 {
    ///     assert!(limiter.check_plan(&plan).now()?.is_allowed());
    /// }
    /// let verdict = limiter.check_plan(&plan).now()?;
    /// assert_eq!(verdict.strictest().unwrap().check, 1, "the address is what refused");
    ///
    /// // The refused request was charged to nobody: the user has 98 left, not 97.
    /// assert_eq!(limiter.peek(&per_user, "user:42").now()?.remaining(), 98);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_plan<'a>(
        &'a self,
        plan: &'a Plan<'_>,
    ) -> Deciding<S, impl Question<Answer = Result<Verdict, CheckError>> + 'a> {
        Deciding::new(Whole { limiter: self, plan, wait: Self::ask_all })
    }

    /// Asks many unrelated checks at once; each is decided alone.
    ///
    /// ```
    /// use tollgate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
    /// let users = ["ann", "bob", "cid"].map(|user| Check::new(&limit, user));
    /// let decisions = limiter.check_many(&users).now()?;
    /// assert!(decisions.iter().all(|decision| decision.remaining() == 9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_many<'a>(
        &'a self,
        checks: &'a [Check<'a>],
    ) -> Deciding<S, impl Question<Answer = Result<Vec<Decision>, CheckError>> + 'a> {
        Deciding::new(move || async move {
            // All keys are looked at first: either every check is asked or none is.
            checks.iter().try_for_each(validate)?;
            let mut answers = Vec::with_capacity(checks.len());
            for checks in checks.chunks(ASKED_TOGETHER) {
                let sets: SmallVec<[Set<'_>; ASKED_TOGETHER]> =
                    checks.iter().map(|check| Set::one(check, fresh_id())).collect();
                let done = self.store.apply_each_at_once(&sets, &mut answers);
                if done < checks.len() {
                    self.ask_each(&checks[done..], &mut answers).await?;
                }
            }
            Ok(answers)
        })
    }

    /// Asks what many requests owe that have arrived together; each plan is decided by itself, as
    /// [`check_plan`](Limiter::check_plan) would, in their order. What they need from memory is
    /// fetched all at once.
    ///
    /// ```
    /// use tollgate::{Check, Limit, Limiter, Plan};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "2/min".parse()?)?;
    /// let mut plan = Plan::new();
    /// plan.require(Check::new(&limit, "user:42"));
    ///
    /// let verdicts = limiter.check_plans(&[plan.clone(), plan.clone(), plan]).now();
    /// let allowed = verdicts.into_iter().map(|verdict| Ok(verdict?.is_allowed()));
    /// assert_eq!(allowed.collect::<Result<Vec<_>, tollgate::CheckError>>()?, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_plans<'a>(
        &'a self,
        plans: &'a [Plan<'_>],
    ) -> Deciding<S, impl Question<Answer = Vec<Result<Verdict, CheckError>>> + 'a> {
        Deciding::new(move || async move {
            let mut verdicts = Vec::with_capacity(plans.len());
            for plans in plans.chunks(ASKED_TOGETHER) {
                self.ask_plans(plans, &mut verdicts).await;
            }
            verdicts
        })
    }

    /// How a key stands with a limit; takes nothing.
    pub fn peek<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).ask(Ask::peek()))
    }

    /// Charges without asking, up to one burst into debt: for costs known only afterwards,
    /// and for reporting failures to a cooldown.
    pub fn charge<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
        cost: Cost,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).ask(Ask::Charge(cost)))
    }

    /// Gives back what a charge is still worth. A receipt counts once, however often it arrives.
    ///
    /// ```
    /// use tollgate::{Check, Cost, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let daily = Limit::fixed_window("daily", "10/day".parse()?)?;
    ///
    /// let order = limiter.check(Check::new(&daily, "user:42").cost(Cost::from(4))).now()?;
    /// let receipt = *order.receipt().unwrap();
    /// let refunded = limiter.refund(&daily, "user:42", receipt).now()?;
    /// assert_eq!(refunded.remaining(), 10);
    ///
    /// let again = limiter.refund(&daily, "user:42", receipt).now()?;
    /// assert_eq!(again.refusal().unwrap().as_str(), "spent");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refund<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
        receipt: Receipt,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        self.settle(limit, key, receipt, Cost::ZERO)
    }

    /// Corrects a charge to what it really cost: reserve what it may cost, then settle.
    pub fn settle<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
        receipt: Receipt,
        actual: Cost,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).ask(Ask::Settle { receipt, actual }))
    }

    /// Forgets everything about a key: it starts afresh.
    pub fn reset<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).ask(Ask::Reset))
    }

    /// Waits for the turn of a check, for `patience` at most: for calls going out to an API
    /// that is limited or paid per call.
    ///
    /// Turns are promised in the order of asking: by a bucket up to one burst ahead, by a queue
    /// as many as it has places. Whoever comes after that, or waits for another kind of limit,
    /// asks again when the limit said, in no order. What certainly cannot come in time is
    /// refused at once. Who stops waiting gives back what its place is still worth.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let outgoing = Limit::token_bucket("geocoder", "1000/s burst 1".parse()?)?;
    /// for _ in 0..3 {
    ///     let check = Check::new(&outgoing, "our-account");
    ///     let turn = limiter.wait(check, Duration::from_secs(5)).blocking()?;
    ///     assert!(turn.is_allowed());
    ///     // … call the API …
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait<'a>(
        &'a self,
        check: Check<'a>,
        patience: Duration,
    ) -> Waiting<impl Future<Output = Result<Decision, CheckError>> + Send + 'a> {
        Waiting::new(wait_for_turn(self, check, patience.into()))
    }

    /// Takes a slot of a concurrency limit; it comes back when the guard is dropped.
    ///
    /// ```
    /// use tollgate::{Check, Hold, Limit, Limiter, Span};
    ///
    /// let limiter = Limiter::in_memory();
    /// let reports = Limit::concurrency("reports", 1, Span::from_secs(60))?;
    ///
    /// let first = limiter.hold(Check::new(&reports, "tenant-7")).now()?;
    /// assert!(matches!(first, Hold::Held(_)));
    /// let second = limiter.hold(Check::new(&reports, "tenant-7")).now()?;
    /// assert!(matches!(second, Hold::Refused(_)));
    /// drop(first);
    /// let third = limiter.hold(Check::new(&reports, "tenant-7")).now()?;
    /// assert!(matches!(third, Hold::Held(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold<'a>(
        &'a self,
        check: Check<'a>,
    ) -> Deciding<S, impl Question<Answer = Result<Hold<S>, CheckError>> + 'a> {
        Deciding::new(move || async move {
            if !check.limit().holds() {
                return Err(CheckError::NothingToHold { algorithm: check.limit().algorithm() });
            }
            let decision = self.ask(&check).await?;
            Ok(if decision.is_allowed() {
                Hold::Held(InFlight::new(self.clone(), check, decision.receipt().copied()))
            } else {
                Hold::Refused(decision)
            })
        })
    }

    /// Gives a charge back without anybody waiting for it to be done.
    pub(crate) fn give_back(&self, limit: &Limit, key: &[u8], receipt: Receipt) {
        let ask = Ask::Settle { receipt, actual: Cost::ZERO };
        let check = Check::new(limit, key).ask(ask);
        self.store.apply_detached(in_period(check, self.store.clock().now()));
    }

    pub(crate) async fn ask(&self, check: &Check<'_>) -> Result<Decision, CheckError> {
        if let Some(decision) = self.ask_any_at_once(check) {
            return Ok(decision);
        }
        let mut decisions = [None];
        self.apply(std::slice::from_ref(check), false, &mut decisions).await?;
        let [decision] = decisions;
        Ok(decision.unwrap_or_else(|| unreachable!("a lone check is always asked")))
    }

    pub(crate) async fn ask_all(&self, plan: &Plan<'_>) -> Result<Verdict, CheckError> {
        let mut verdict = Verdict::unresolved(plan.checks().len());
        let ruling = self.apply(plan.checks(), plan.is_independent(), verdict.places()).await?;
        verdict.resolve(plan, ruling == Ruling::Admitted);
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
        let id = fresh_id();
        let set =
            if plan.is_independent() { Set::independent(checks, id) } else { Set::all(checks, id) };
        match self.store.apply_at_once(&set, verdict.places())?.ruling {
            ruling @ (Ruling::Admitted | Ruling::Refused) => {
                verdict.resolve(plan, ruling == Ruling::Admitted);
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
        let mut time = if calendar { self.store.clock().now() } else { Time::EPOCH };
        let mut decisions = [None];
        for _ in 0..CALENDAR_TRIES {
            let check = in_period(*check, time);
            let set = Set::one(&check, fresh_id());
            match self.store.apply_at_once(&set, &mut decisions)? {
                Applied { ruling: Ruling::Stale, now } => time = now,
                _ => return decisions[0],
            }
        }
        None
    }

    /// The answer of a bucket, if the store has it without waiting.
    #[inline(always)]
    pub(crate) fn ask_at_once(&self, check: &Check<'_>) -> Option<Decision> {
        validate(check).ok()?;
        let (_, decision) = self.store.apply_one_at_once(&Set::one(check, fresh_id()))?;
        Some(decision)
    }

    /// Asks checks that have nothing to do with each other.
    async fn ask_each(
        &self,
        checks: &[Check<'_>],
        answers: &mut Vec<Decision>,
    ) -> Result<(), CheckError> {
        let calendar = checks.iter().any(|check| check.limit().calendar().is_some());
        let now = if calendar { self.store.clock().now() } else { Time::EPOCH };
        let within: Vec<Check<'_>> = checks.iter().map(|check| in_period(*check, now)).collect();
        let sets: Vec<Set<'_>> = within.iter().map(|check| Set::one(check, fresh_id())).collect();
        let mut decisions = vec![None; checks.len()];
        let mut applied = Vec::with_capacity(checks.len());
        self.store.apply_many(&sets, &mut decisions, &mut applied).await?;
        for ((check, decision), applied) in checks.iter().zip(decisions).zip(applied) {
            answers.push(match decision {
                Some(decision) if applied.ruling != Ruling::Stale => decision,
                // Its calendar window ended meanwhile.
                _ => self.ask(check).await?,
            });
        }
        Ok(())
    }

    /// Asks several plans, each by itself.
    async fn ask_plans(&self, plans: &[Plan<'_>], verdicts: &mut Vec<Result<Verdict, CheckError>>) {
        // What needs a calendar, or can not be asked at all, goes the way of a single plan.
        let simple: SmallVec<[bool; ASKED_TOGETHER]> =
            plans.iter().map(|plan| Self::is_simple(plan.checks())).collect();
        let together = plans.iter().zip(&simple).filter(|(_, simple)| **simple);
        let sets: SmallVec<[Set<'_>; ASKED_TOGETHER]> = together
            .map(|(plan, _)| match (plan.checks(), fresh_id()) {
                (checks, id) if plan.is_independent() => Set::independent(checks, id),
                (checks, id) => Set::all(checks, id),
            })
            .collect();
        let mut decisions = vec![None; sets.iter().map(|set| set.checks().len()).sum()];
        let mut applied = Vec::with_capacity(sets.len());
        let outcome = self.store.apply_many(&sets, &mut decisions, &mut applied).await;
        let (mut decisions, mut applied) = (&decisions[..], applied.into_iter());
        for (plan, simple) in plans.iter().zip(simple) {
            if !simple {
                verdicts.push(self.ask_all(plan).await);
                continue;
            }
            let (own, rest) = decisions.split_at(plan.checks().len());
            decisions = rest;
            verdicts.push(match (applied.next().map(|applied| applied.ruling), &outcome) {
                (Some(Ruling::Contradictory), _) => Err(CheckError::ContradictoryLimits),
                (Some(ruling), _) => {
                    let mut verdict = Verdict::unresolved(own.len());
                    verdict.places().copy_from_slice(own);
                    verdict.resolve(plan, ruling == Ruling::Admitted);
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
        independent: bool,
        decisions: &mut [Option<Decision>],
    ) -> Result<Ruling, CheckError> {
        if checks.len() > Self::MAX_CHECKS {
            return Err(CheckError::TooManyChecks { found: checks.len() });
        }
        checks.iter().try_for_each(validate)?;
        // Once for the window this process believes in, then for the store's own time. Without
        // a calendar the store's is the only clock that has to be read.
        let calendar = checks.iter().any(|check| check.limit().calendar().is_some());
        let mut within: SmallVec<[Check<'_>; 2]> = SmallVec::new();
        let mut time = if calendar { self.store.clock().now() } else { Time::EPOCH };
        for _ in 0..CALENDAR_TRIES {
            if calendar {
                within = checks.iter().map(|check| in_period(*check, time)).collect();
            }
            let (checks, id) = (if calendar { &within[..] } else { checks }, fresh_id());
            let set = if independent { Set::independent(checks, id) } else { Set::all(checks, id) };
            let applied = self.store.apply(&set, decisions).await?;
            match applied.ruling {
                Ruling::Stale => time = applied.now,
                Ruling::Contradictory => return Err(CheckError::ContradictoryLimits),
                ruling => return Ok(ruling),
            }
        }
        Err(CheckError::CalendarRace)
    }
}

/// How many checks are handed to a store at a time.
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

/// The check with the calendar window that `now` falls into, unless it came with one around it.
fn in_period(check: Check<'_>, now: Time) -> Check<'_> {
    match check.limit().calendar() {
        None => check,
        Some(_) if check.period().is_some_and(|period: Period| period.contains(now)) => check,
        Some(per) => check.within(period_at(per, now)),
    }
}

/// An id that no other set has, without asking other threads.
#[inline]
fn fresh_id() -> Id {
    thread_local! {
        /// A number that no other thread has, and how many ids were made; the low byte of the
        /// count is left to the checks of the set.
        static IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    #[cold]
    fn another_thread() -> u64 {
        RandomState::new().hash_one("tollgate") | 1
    }
    let (thread, count) = IDS.get();
    let thread = if thread == 0 { another_thread() } else { thread };
    IDS.set((thread, count.wrapping_add(1 << 8)));
    Id::from_bits(u128::from(thread) << 64 | u128::from(count))
}
