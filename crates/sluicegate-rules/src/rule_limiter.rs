//! A limiter that goes by rules: the line that every request walks.

mod settling;

mod together;

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use sluicegate::{CheckError, Clock, Limiter, Memory, Plan, Store, Time, Verdict};

pub use self::together::{Part, Together};

use crate::charged::Pen;
use crate::directory::Directory;
use crate::facts::Facts;
use crate::planning::{Desk, Outcome, Planned, Purpose};
use crate::process_key::{ProcessKey, RandomnessError};
use crate::request::Request;
use crate::reservation;
use crate::ruleset::RuleSet;
use crate::slot;

/// A limiter that goes by rules, which can be replaced while it is asked.
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
/// let allowed = || gate.decide_now(&request, |answer| answer.is_allowed());
/// assert_eq!([allowed()?, allowed()?, allowed()?], [true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RuleLimiter<S = Memory> {
    limiter: Limiter<S>,
    rules: ArcSwap<RuleSet>,
    directory: Directory,
    /// Authenticates tokens where no secret is configured, until this process ends.
    process: ProcessKey,
}

/// What became of a request: the plan, and the verdict where a store was asked.
#[derive(Debug)]
pub struct Answered<'a> {
    /// What the request owed, and to whom.
    pub planned: &'a Planned<'a>,
    /// What the store said; `None` where there was nothing to ask.
    pub verdict: Option<&'a Verdict>,
    asking: &'a Asked<'a>,
}

/// What a request was, and with what texts about it are written.
#[derive(Debug)]
struct Asked<'a> {
    request: &'a Request<'a>,
    directory: &'a Directory,
    now: Time,
    pen: Pen<'a>,
}

impl Answered<'_> {
    /// Whether the request may go ahead.
    pub fn is_allowed(&self) -> bool {
        match self.planned.outcome() {
            Outcome::Ask => self.verdict.is_none_or(Verdict::is_allowed),
            Outcome::Free => true,
            Outcome::Blocked | Outcome::Unidentified { .. } => false,
        }
    }

    /// What the caller has to bring back when the request has ended, where it holds a slot.
    pub fn slot(&self) -> Option<String> {
        slot::write(self.planned, self.verdict?, self.asking.pen)
    }

    /// What the caller has to bring back when it knows what the request really cost, where anything
    /// was charged.
    pub fn reservation(&self) -> Option<String> {
        let (verdict, Asked { request, directory, now, pen }) = (self.verdict?, self.asking);
        let facts = Facts::of(self.planned.rules(), directory, **request, *now);
        reservation::write(self.planned, verdict, facts, *pen)
    }
}

/// A request between its plan and its answer: all but the question to the store, which may wait.
struct Asking<'a> {
    planned: Planned<'a>,
    asked: Asked<'a>,
}

impl<'a> Asking<'a> {
    /// What the store has to be asked, if anything.
    fn plan(&self) -> Option<&Plan<'a>> {
        let plan = self.planned.plan();
        (self.planned.outcome() == Outcome::Ask && !plan.checks().is_empty()).then_some(plan)
    }

    fn answered<'s>(&'s self, verdict: Option<&'s Verdict>) -> Answered<'s> {
        Answered { planned: &self.planned, verdict, asking: &self.asked }
    }
}

impl<S: Store> RuleLimiter<S> {
    /// A limiter that goes by these rules.
    ///
    /// Fails if the operating system supplies no random bytes for the key that authenticates slots
    /// and reservations.
    pub fn new(limiter: Limiter<S>, rules: RuleSet) -> Result<Self, RandomnessError> {
        Ok(Self {
            limiter,
            rules: ArcSwap::from_pointee(rules),
            directory: Directory::new(),
            process: ProcessKey::generate()?,
        })
    }

    /// The limiter.
    pub fn limiter(&self) -> &Limiter<S> {
        &self.limiter
    }

    /// The rules in force.
    pub fn rules(&self) -> Guard<Arc<RuleSet>> {
        self.rules.load()
    }

    /// What is known of single callers beside what the rules' file says.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Puts other rules in force. Requests that are being decided go by the old ones; counters stay.
    pub fn replace(&self, rules: RuleSet) {
        let now = self.now();
        let rules = rules.succeeding(&self.rules.load(), now);
        self.rules.store(Arc::new(rules));
    }

    /// Decides a request, and hands the answer to whoever has to tell it.
    ///
    /// The line that every request walks: plan, apply, resolve, respond.
    pub async fn decide<R>(
        &self,
        request: &Request<'_>,
        respond: impl FnOnce(&Answered<'_>) -> R,
    ) -> Result<R, CheckError> {
        self.decide_for(Purpose::Take, request, respond).await
    }

    /// The same, for another purpose: to report a failure.
    pub async fn decide_for<R>(
        &self,
        purpose: Purpose,
        request: &Request<'_>,
        respond: impl FnOnce(&Answered<'_>) -> R,
    ) -> Result<R, CheckError> {
        let rules = self.rules.load();
        let mut desk = Desk::new();
        let asking = self.asking(&rules, purpose, request, &mut desk);
        let verdict = match asking.plan() {
            Some(plan) => Some(self.limiter.check_plan(plan).await?),
            None => None,
        };
        Ok(respond(&asking.answered(verdict.as_ref())))
    }

    /// Decides requests that have arrived together, each by itself and in their order.
    pub async fn decide_many<R>(
        &self,
        requests: &[Request<'_>],
        mut respond: impl FnMut(usize, Result<&Answered<'_>, &CheckError>) -> R,
    ) -> Vec<R> {
        let rules = self.rules.load();
        let now = self.now();
        let mut desks: Vec<Desk> = requests.iter().map(|_| Desk::new()).collect();
        let planned: Vec<Planned<'_>> = requests
            .iter()
            .zip(&mut desks)
            .map(|(request, desk)| rules.plan(&self.directory, request, now, desk))
            .collect();
        // A plan without checks is decided too: it is admitted, and nothing is asked.
        let plans: Vec<_> = planned.iter().map(|planned| planned.plan().clone()).collect();
        let verdicts = self.limiter.check_plans(&plans).await;
        let pen = self.pen(&rules);
        planned
            .iter()
            .zip(&verdicts)
            .zip(requests)
            .enumerate()
            .map(|(index, ((planned, verdict), request))| match verdict {
                Ok(verdict) => {
                    let asked = !planned.plan().checks().is_empty();
                    let verdict = Some(verdict).filter(|_| asked);
                    let asking = &Asked { request, directory: &self.directory, now, pen };
                    respond(index, Ok(&Answered { planned, verdict, asking }))
                }
                Err(error) => respond(index, Err(error)),
            })
            .collect()
    }

    fn asking<'a>(
        &'a self,
        rules: &'a RuleSet,
        purpose: Purpose,
        request: &'a Request<'_>,
        desk: &'a mut Desk,
    ) -> Asking<'a> {
        let (directory, now, pen) = (&self.directory, self.now(), self.pen(rules));
        let planned = rules.plan_for(purpose, directory, request, now, desk);
        Asking { planned, asked: Asked { request, directory, now, pen } }
    }

    fn pen<'a>(&'a self, rules: &'a RuleSet) -> Pen<'a> {
        let own = &self.process;
        let digester = if rules.has_secret { &rules.digester } else { &own.digester };
        Pen { digester, process: own.mark }
    }

    pub(crate) fn now(&self) -> sluicegate::Time {
        self.limiter.store().clock().now()
    }
}

impl<S: sluicegate::Immediate> RuleLimiter<S> {
    /// Decides a request at once: for stores that never wait.
    pub fn decide_now<R>(
        &self,
        request: &Request<'_>,
        respond: impl FnOnce(&Answered<'_>) -> R,
    ) -> Result<R, CheckError> {
        let rules = self.rules.load();
        let mut desk = Desk::new();
        let asking = self.asking(&rules, Purpose::Take, request, &mut desk);
        let verdict = match asking.plan() {
            Some(plan) => Some(self.limiter.check_plan(plan).now()?),
            None => None,
        };
        Ok(respond(&asking.answered(verdict.as_ref())))
    }
}
