//! The rate limiter that plans and decides requests by the rules in force.

pub(crate) mod callers;
mod group;
mod receipts;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use sluicegate::{
    CheckError, Clock, Limiter, Memory, Pending, PendingOperation, Plan, Store, Time, Verdict,
};

pub use self::group::{GroupEvaluation, GroupItem};

use crate::directory::Directory;
use crate::keyed_hash::process_key::{ProcessKey, RandomnessError};
use crate::plan::{PlanBuffer, PlanOutcome, RequestPlan};
use crate::receipts::reservation;
use crate::receipts::slot;
use crate::receipts::token::TokenSigner;
use crate::request::Request;
use crate::request::context::RequestContext;
use crate::rule_set::RuleSet;

/// A rate limiter that applies a [`RuleSet`], which can be replaced while requests are decided.
///
/// ```
/// use sluicegate::Limiter;
/// use sluicegate_rules::{Request, RuleSet, RuleLimiter};
///
/// let rules = RuleSet::parse(
///     "rules: [{ name: per-address, key: ip, limit: 2/min }]",
/// )?;
/// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
/// let request = Request::new().method("GET").target("/").peer([203, 0, 113, 9].into());
/// let allowed = || gate.check(&request, |answer| answer.is_allowed()).now();
/// assert_eq!([allowed()?, allowed()?, allowed()?], [true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RuleLimiter<S = Memory> {
    limiter: Limiter<S>,
    rules: ArcSwap<RuleSet>,
    directory: Directory,
    /// Signs tokens if no secret is configured; such tokens are valid until this process ends.
    process_key: ProcessKey,
}

/// The result of a request: its plan, and the verdict if the store was called.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The checks of the request, and the rules they belong to.
    pub planned: &'a RequestPlan<'a>,
    /// The verdict of the store; `None` if there was nothing to check.
    pub verdict: Option<&'a Verdict>,
    context: &'a RuleEvalContext<'a>,
}

/// The data that an evaluation needs to issue tokens.
#[derive(Debug)]
struct RuleEvalContext<'a> {
    request: &'a Request<'a>,
    directory: &'a Directory,
    now: Time,
    signer: TokenSigner<'a>,
}

impl Evaluation<'_> {
    /// Whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        match self.planned.outcome() {
            // A report of past requests refuses nothing.
            PlanOutcome::Check if self.planned.plan().is_independent() => true,
            PlanOutcome::Check => self.verdict.is_none_or(Verdict::is_allowed),
            PlanOutcome::Free => true,
            PlanOutcome::Blocked | PlanOutcome::Unidentified { .. } => false,
        }
    }

    /// The token that the caller sends back when the request ends; `None` if it holds no slot.
    pub fn slot(&self) -> Option<String> {
        slot::write(self.planned, self.verdict?, self.context.signer)
    }

    /// The token that the caller sends back once the actual cost is known; `None` if nothing was
    /// charged.
    pub fn reservation(&self) -> Option<String> {
        let (verdict, RuleEvalContext { request, directory, now, signer }) =
            (self.verdict?, self.context);
        let context = RequestContext::of(self.planned.rules(), directory, **request, *now);
        reservation::write(self.planned, verdict, context, *signer)
    }
}

/// A request that is planned but not yet decided.
struct PlannedRequest<'a> {
    planned: RequestPlan<'a>,
    context: RuleEvalContext<'a>,
}

impl<'a> PlannedRequest<'a> {
    /// The plan for the store; `None` if there is nothing to check.
    fn plan(&self) -> Option<&Plan<'a>> {
        let plan = self.planned.plan();
        (self.planned.outcome() == PlanOutcome::Check && !plan.checks().is_empty()).then_some(plan)
    }

    fn evaluation<'s>(&'s self, verdict: Option<&'s Verdict>) -> Evaluation<'s> {
        Evaluation { planned: &self.planned, verdict, context: &self.context }
    }
}

impl<S: Store> RuleLimiter<S> {
    /// Creates a limiter with these rules.
    ///
    /// Fails if the operating system supplies no random bytes for the key that authenticates slots
    /// and reservations.
    pub fn new(limiter: Limiter<S>, rules: RuleSet) -> Result<Self, RandomnessError> {
        Ok(Self {
            limiter,
            rules: ArcSwap::from_pointee(rules),
            directory: Directory::new(),
            process_key: ProcessKey::generate()?,
        })
    }

    /// The underlying limiter.
    pub fn limiter(&self) -> &Limiter<S> {
        &self.limiter
    }

    /// The rules in force.
    pub fn rules(&self) -> Guard<Arc<RuleSet>> {
        self.rules.load()
    }

    /// The directory of callers, in addition to the one in the rule file.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Replaces the rules. Requests in progress still use the old ones; counters stay.
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate_rules::{Request, RuleLimiter, RuleSet};
    ///
    /// let gate = RuleLimiter::new(Limiter::in_memory(), RuleSet::parse("rules: []")?)?;
    /// let request = Request::new().peer([203, 0, 113, 9].into());
    /// let limits = || gate.check(&request, |answer| answer.planned.plan().checks().len()).now();
    /// assert_eq!(limits()?, 0);
    /// gate.replace(RuleSet::parse("rules: [{ name: api, key: ip, limit: 2/min }]")?);
    /// assert_eq!(limits()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace(&self, rules: RuleSet) {
        let now = self.now();
        let rules = rules.succeeding(&self.rules.load(), now);
        self.rules.store(Arc::new(rules));
    }

    /// Checks a request and calls `respond` with the evaluation.
    ///
    /// Every request takes these steps: plan, apply, resolve, respond.
    pub fn check<'a, R: Send + 'a>(
        &'a self,
        request: &'a Request<'_>,
        respond: impl FnOnce(&Evaluation<'_>) -> R + Send + 'a,
    ) -> Pending<S, impl PendingOperation<Answer = Result<R, CheckError>> + 'a> {
        Pending::new(move || async move {
            let rules = self.rules.load();
            let mut buffer = PlanBuffer::new();
            let planned = self.plan(&rules, request, self.now(), &mut buffer);
            let verdict = self.evaluate(&planned).await?;
            Ok(respond(&planned.evaluation(verdict.as_ref())))
        })
    }

    /// Checks a batch of requests, each by itself and in order.
    ///
    /// Calls `respond` with the index of each request and its evaluation.
    ///
    /// ```
    /// use sluicegate::Limiter;
    /// use sluicegate_rules::{Request, RuleLimiter, RuleSet};
    ///
    /// # futures(async {
    /// let rules = RuleSet::parse("rules: [{ name: api, key: ip, limit: 2/min }]")?;
    /// let gate = RuleLimiter::new(Limiter::in_memory(), rules)?;
    /// let requests = [Request::new().peer([203, 0, 113, 9].into()); 3];
    /// let allowed = gate.check_batch(&requests, |_, made| made.is_ok_and(|it| it.is_allowed()));
    /// assert_eq!(allowed.await, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # fn futures<F: Future>(future: F) -> F::Output {
    /// #     let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    /// #     match std::pin::pin!(future).poll(context) {
    /// #         std::task::Poll::Ready(output) => output,
    /// #         std::task::Poll::Pending => unreachable!(),
    /// #     }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn check_batch<R>(
        &self,
        requests: &[Request<'_>],
        mut respond: impl FnMut(usize, Result<&Evaluation<'_>, &CheckError>) -> R,
    ) -> Vec<R> {
        let rules = self.rules.load();
        let now = self.now();
        let mut buffers: Vec<PlanBuffer> = requests.iter().map(|_| PlanBuffer::new()).collect();
        let planned: Vec<PlannedRequest<'_>> = requests
            .iter()
            .zip(&mut buffers)
            .map(|(request, buffer)| self.plan(&rules, request, now, buffer))
            .collect();
        // Plans without checks are included: they are allowed without a call to the store.
        let plans: Vec<_> = planned.iter().map(|one| one.planned.plan().clone()).collect();
        let verdicts = self.limiter.check_batch(&plans).await;
        let results = planned.iter().zip(&verdicts).enumerate();
        results
            .map(|(index, (planned, verdict))| match verdict {
                Ok(verdict) => {
                    let verdict = planned.plan().and(Some(verdict));
                    respond(index, Ok(&planned.evaluation(verdict)))
                }
                Err(error) => respond(index, Err(error)),
            })
            .collect()
    }

    /// Returns the verdict on a planned request; `None` if there is nothing to check.
    async fn evaluate(&self, planned: &PlannedRequest<'_>) -> Result<Option<Verdict>, CheckError> {
        match planned.plan() {
            Some(plan) => self.limiter.check_plan(plan).await.map(Some),
            None => Ok(None),
        }
    }

    fn plan<'a>(
        &'a self,
        rules: &'a RuleSet,
        request: &'a Request<'_>,
        now: Time,
        buffer: &'a mut PlanBuffer,
    ) -> PlannedRequest<'a> {
        let (directory, signer) = (&self.directory, self.signer(rules));
        let planned = rules.plan(directory, request, now, buffer);
        PlannedRequest { planned, context: RuleEvalContext { request, directory, now, signer } }
    }

    fn signer<'a>(&'a self, rules: &'a RuleSet) -> TokenSigner<'a> {
        let own = &self.process_key;
        let hasher = if rules.has_secret { &rules.hasher } else { &own.hasher };
        TokenSigner { hasher, process: own.mark }
    }

    pub(crate) fn now(&self) -> sluicegate::Time {
        self.limiter.store().clock().now()
    }
}
