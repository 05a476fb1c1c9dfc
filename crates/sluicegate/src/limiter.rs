//! The limiter: plan in, verdict out, with one step to the store between.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::{Ask, Check, Cost, Decision, Limit, Receipt};

use crate::deciding::{Deciding, Question, Waiting};
use crate::error::CheckError;
use crate::in_flight::{Hold, InFlight};
use crate::memory::Memory;
use crate::plan::Plan;
use crate::question::{Lone, Whole};
use crate::store::Store;
use crate::verdict::Verdict;
use crate::waiting::wait_for_turn;

/// Decides, for every request of every caller: now, later, or not.
///
/// Cheap to clone; clones share their store.
///
/// ```
/// use sluicegate::{Check, Limit, Limiter};
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
    /// use sluicegate::{Check, Limit, Limiter, Plan};
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
    /// use sluicegate::{Check, Limit, Limiter};
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
        Deciding::new(move || self.ask_many(checks))
    }

    /// Asks one limit about one key, if the store has the answer at a glance; if it has not, nothing was
    /// asked, and [`check`](Limiter::check) has to be. Memory nearly always has that of a bucket.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
    /// let decision = limiter.check_at_once(&Check::new(&limit, "ann"));
    /// assert_eq!(decision.map(|made| made.remaining()), Some(9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_at_once(&self, check: &Check<'_>) -> Option<Decision> {
        self.ask_at_once(check)
    }

    /// Asks [many](Limiter::check_many), as far as the store has the answers without waiting: decisions are added to
    /// `decisions`, and how many of the first checks were decided comes back. The others have not
    /// been asked.
    ///
    /// For whoever answers many callers and has a place for the decisions already.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limits = ["10/s", "20/s"].map(|quota| Limit::token_bucket("api", quota.parse().unwrap()));
    /// let [slow, fast] = limits.map(Result::unwrap);
    /// let mut decisions = Vec::new();
    /// let checks = [Check::new(&slow, "ann"), Check::new(&fast, "bob")];
    /// assert_eq!(limiter.check_many_at_once(&checks, &mut decisions), 2);
    /// assert_eq!(decisions.iter().map(|made| made.remaining()).collect::<Vec<_>>(), [9, 19]);
    /// ```
    pub fn check_many_at_once(&self, checks: &[Check<'_>], decisions: &mut Vec<Decision>) -> usize {
        self.ask_many_at_once(checks, decisions)
    }

    /// Asks what many requests owe that have arrived together; each plan is decided by itself, as
    /// [`check_plan`](Limiter::check_plan) would, in their order. What their first checks need from
    /// memory is fetched all at once.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter, Plan};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "2/min".parse()?)?;
    /// let mut plan = Plan::new();
    /// plan.require(Check::new(&limit, "user:42"));
    ///
    /// let verdicts = limiter.check_plans(&[plan.clone(), plan.clone(), plan]).now();
    /// let allowed = verdicts.into_iter().map(|verdict| Ok(verdict?.is_allowed()));
    /// assert_eq!(allowed.collect::<Result<Vec<_>, sluicegate::CheckError>>()?, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_plans<'a>(
        &'a self,
        plans: &'a [Plan<'_>],
    ) -> Deciding<S, impl Question<Answer = Vec<Result<Verdict, CheckError>>> + 'a> {
        Deciding::new(move || self.ask_plans(plans))
    }

    /// Asks what several requests owe that stand or fall together, in one step: all of it is charged,
    /// or nothing is. There is a verdict for each plan, in their order.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter, Plan};
    ///
    /// let limiter = Limiter::in_memory();
    /// let per_user = Limit::token_bucket("per-user", "100/min".parse()?)?;
    /// let per_address = Limit::token_bucket("per-address", "1/min".parse()?)?;
    /// let mut plans = [Plan::new(), Plan::new()];
    /// plans[0].require(Check::new(&per_user, "user:42"));
    /// plans[1].require(Check::new(&per_address, "203.0.113.9"));
    ///
    /// assert!(limiter.check_together(&plans).now()?.iter().all(|verdict| verdict.is_allowed()));
    /// let verdicts = limiter.check_together(&plans).now()?;
    /// assert!(verdicts[0].is_allowed() && !verdicts[1].is_allowed());
    /// assert_eq!(limiter.peek(&per_user, "user:42").now()?.remaining(), 99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_together<'a>(
        &'a self,
        plans: &'a [Plan<'_>],
    ) -> Deciding<S, impl Question<Answer = Result<Vec<Verdict>, CheckError>> + 'a> {
        Deciding::new(move || async move {
            let mut whole = Plan::new();
            for check in plans.iter().flat_map(Plan::checks) {
                whole.require(*check);
            }
            whole.answered_within(plans.iter().filter_map(Plan::within).min());
            Ok(self.ask_all(&whole).await?.split(plans))
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
    /// use sluicegate::{Check, Cost, Limit, Limiter};
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

    /// Gives units back without a receipt, never more than are used now: for callers who can only
    /// say that they did not need them. The decision grants what came back.
    ///
    /// Nobody remembers it, so sent twice it gives twice; with a receipt, [`refund`](Limiter::refund)
    /// gives once. Slots and failures do not come back like this.
    ///
    /// ```
    /// use sluicegate::{Check, Cost, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let daily = Limit::fixed_window("daily", "10/day".parse()?)?;
    ///
    /// limiter.check(Check::new(&daily, "user:42").cost(Cost::from(4))).now()?;
    /// let unused = limiter.refund_units(&daily, "user:42", Cost::from(3)).now()?;
    /// assert_eq!((unused.granted(), unused.remaining()), (3, 9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refund_units<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
        cost: Cost,
    ) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).ask(Ask::Refund(cost)))
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
    /// use sluicegate::{Check, Limit, Limiter};
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
    /// use sluicegate::{Check, Hold, Limit, Limiter, Span};
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
}
