//! The limiter: applies plans to a store and returns verdicts.

pub(crate) mod dispatch;
pub(crate) mod wait;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::{Check, Cost, Decision, Limit, Operation, Receipt};

use crate::error::CheckError;
use crate::limiter::dispatch::{CheckOne, CheckPlan};
use crate::limiter::wait::wait_for_turn;
use crate::memory::Memory;
use crate::pending::{AttemptFirst, Pending, PendingOperation, PendingTurn};
use crate::permit::{Permit, TryHold};
use crate::plan::Plan;
use crate::store::Store;
use crate::verdict::Verdict;

/// A rate limiter on a store.
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
    /// Creates a limiter on an empty store in this process's memory.
    pub fn in_memory() -> Self {
        Self::new(Memory::new())
    }
}

impl<S> Limiter<S> {
    /// The longest key in bytes.
    pub const MAX_KEY: usize = 4_096;
    /// The largest number of checks in a plan.
    pub const MAX_CHECKS: usize = 64;
}

impl<S: Store> Limiter<S> {
    /// Creates a limiter on this store.
    pub fn new(store: S) -> Self {
        Self { store: Arc::new(store) }
    }

    /// Returns the store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Checks one limit for one key.
    ///
    /// ```
    /// use sluicegate::{Check, Cost, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("uploads", "10/hour".parse()?)?;
    /// let upload = Check::new(&limit, "user:42").cost(Cost::from(10));
    /// assert!(limiter.check(upload).now()?.is_allowed());
    /// let refused = limiter.check(upload).now()?; // or .await
    /// assert!(refused.retry_after().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn check<'a>(
        &'a self,
        check: Check<'a>,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        Pending::new(AttemptFirst {
            input: CheckOne { limiter: self, check },
            wait: |one: CheckOne<'a, S>| async move { one.limiter.run(&one.check).await },
        })
    }

    /// Checks a plan in one step: all of it is charged, or nothing is.
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
    /// // The refused request was not charged: the user has 98 left, not 97.
    /// assert_eq!(limiter.peek(&per_user, "user:42").now()?.remaining(), 98);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_plan<'a>(
        &'a self,
        plan: &'a Plan<'_>,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Verdict, CheckError>> + 'a> {
        Pending::new(AttemptFirst {
            input: CheckPlan { limiter: self, plan: plan.view() },
            wait: |it: CheckPlan<'a, S>| it.limiter.run_plan(it.plan),
        })
    }

    /// Checks one limit for one key if the store can decide without waiting.
    ///
    /// `None` means that nothing was evaluated; then call [`check`](Limiter::check). The memory
    /// store can nearly always decide a bucket.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "10/s".parse()?)?;
    /// let decision = limiter.try_check(&Check::new(&limit, "ann"));
    /// assert_eq!(decision.map(|made| made.remaining()), Some(9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_check(&self, check: &Check<'_>) -> Option<Decision> {
        self.try_run(check)
    }

    /// Checks many unrelated limits, as far as the store can decide without waiting.
    ///
    /// Each check is decided by itself. Calls `decided` with each decision, and returns the number
    /// of checks decided, which are the first ones; the others were not evaluated. For servers
    /// that answer many callers.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limits = ["10/s", "20/s"].map(|quota| Limit::token_bucket("api", quota.parse().unwrap()));
    /// let [slow, fast] = limits.map(Result::unwrap);
    /// let mut remaining = Vec::new();
    /// let checks = [Check::new(&slow, "ann"), Check::new(&fast, "bob")];
    /// assert_eq!(limiter.try_check_batch(&checks, |made| remaining.push(made.remaining())), 2);
    /// assert_eq!(remaining, [9, 19]);
    /// ```
    pub fn try_check_batch(&self, checks: &[Check<'_>], decided: impl FnMut(&Decision)) -> usize {
        self.try_run_batch(checks, decided)
    }

    /// Checks the plans of many requests that have arrived together.
    ///
    /// Each plan is decided by itself, as by [`check_plan`](Limiter::check_plan), in their order.
    /// The memory that their first checks need is prefetched together.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter, Plan};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "2/min".parse()?)?;
    /// let mut plan = Plan::new();
    /// plan.require(Check::new(&limit, "user:42"));
    ///
    /// let verdicts = limiter.check_batch(&[plan.clone(), plan.clone(), plan]).now();
    /// let allowed = verdicts.into_iter().map(|verdict| Ok(verdict?.is_allowed()));
    /// assert_eq!(allowed.collect::<Result<Vec<_>, sluicegate::CheckError>>()?, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_batch<'a>(
        &'a self,
        plans: &'a [Plan<'_>],
    ) -> Pending<S, impl PendingOperation<Answer = Vec<Result<Verdict, CheckError>>> + 'a> {
        Pending::new(move || self.run_batch(plans))
    }

    /// Returns the usage of a key without charging it.
    ///
    /// ```
    /// use sluicegate::{Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "10/min".parse()?)?;
    /// assert_eq!(limiter.peek(&limit, "user:42").now()?.remaining(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn peek<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).with_operation(Operation::peek()))
    }

    /// Charges unconditionally, up to one burst into debt.
    ///
    /// For costs known only afterwards, and for reporting failures to a cooldown.
    ///
    /// ```
    /// use sluicegate::{Cost, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let tokens = Limit::token_bucket("tokens", "1000/min".parse()?)?;
    /// limiter.charge(&tokens, "user:42", Cost::from(1_200)).now()?;
    /// assert_eq!(limiter.peek(&tokens, "user:42").now()?.remaining(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn charge<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
        cost: Cost,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).with_operation(Operation::Charge(cost)))
    }

    /// Refunds the remaining value of a charge; a receipt counts once, however often it is sent.
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
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        self.settle(limit, key, receipt, Cost::ZERO)
    }

    /// Corrects a charge to its actual cost: reserve the maximum, then settle.
    ///
    /// ```
    /// use sluicegate::{Check, Cost, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let tokens = Limit::fixed_window("tokens", "1000/day".parse()?)?;
    /// let most = Check::new(&tokens, "user:42").cost(Cost::from(500));
    /// let receipt = *limiter.check(most).now()?.receipt().ok_or("charged")?;
    /// let settled = limiter.settle(&tokens, "user:42", receipt, Cost::from(120)).now()?;
    /// assert_eq!(settled.remaining(), 880);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
        receipt: Receipt,
        actual: Cost,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).with_operation(Operation::Settle { receipt, actual }))
    }

    /// Refunds units without a receipt, never more than are used now.
    ///
    /// For callers that can only report that they did not need them. The decision grants the units
    /// refunded.
    ///
    /// The refund is not stored, so sent twice it refunds twice; with a receipt,
    /// [`refund`](Limiter::refund) counts once. Slots and failures cannot be refunded like this.
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
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).with_operation(Operation::Refund(cost)))
    }

    /// Clears the counter of a key.
    ///
    /// ```
    /// use sluicegate::{Check, Limit, Limiter};
    ///
    /// let limiter = Limiter::in_memory();
    /// let limit = Limit::token_bucket("api", "1/day".parse()?)?;
    /// limiter.check(Check::new(&limit, "user:42")).now()?;
    /// limiter.reset(&limit, "user:42").now()?;
    /// assert_eq!(limiter.peek(&limit, "user:42").now()?.remaining(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset<'a, K: AsRef<[u8]> + ?Sized>(
        &'a self,
        limit: &'a Limit,
        key: &'a K,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + 'a> {
        self.check(Check::new(limit, key).with_operation(Operation::Reset))
    }

    /// Waits for the turn of a check, for `patience` at most.
    ///
    /// For outgoing calls to an API that is limited or paid per call.
    ///
    /// Turns are assigned in the order of the calls: by a bucket up to one burst ahead, by a queue
    /// as many as it has places. Later callers, and callers of other limits, retry at the time the
    /// limit returned, in no order. A check that cannot succeed in time is refused immediately.
    /// Dropping the future refunds the remaining value of its turn.
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
    ) -> PendingTurn<impl Future<Output = Result<Decision, CheckError>> + Send + 'a> {
        PendingTurn::new(wait_for_turn(self, check, patience.into()))
    }

    /// Takes a slot of a concurrency limit, which is released when the guard is dropped.
    ///
    /// ```
    /// use sluicegate::{Check, TryHold, Limit, Limiter, Span};
    ///
    /// let limiter = Limiter::in_memory();
    /// let reports = Limit::concurrency("reports", 1, Span::from_secs(60))?;
    ///
    /// let first = limiter.hold(Check::new(&reports, "tenant-7")).now()?;
    /// assert!(matches!(first, TryHold::Held(_)));
    /// let second = limiter.hold(Check::new(&reports, "tenant-7")).now()?;
    /// assert!(matches!(second, TryHold::Refused(_)));
    /// drop(first);
    /// let third = limiter.hold(Check::new(&reports, "tenant-7")).now()?;
    /// assert!(matches!(third, TryHold::Held(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold<'a>(
        &'a self,
        check: Check<'a>,
    ) -> Pending<S, impl PendingOperation<Answer = Result<TryHold<S>, CheckError>> + 'a> {
        Pending::new(move || async move {
            if !check.limit().holds() {
                return Err(CheckError::NothingToHold { algorithm: check.limit().algorithm() });
            }
            let decision = self.run(&check).await?;
            Ok(if decision.is_allowed() {
                TryHold::Held(Permit::new(self.clone(), check, decision.receipt().copied()))
            } else {
                TryHold::Refused(decision)
            })
        })
    }
}
