//! The rate-limit headers and the refusal of a decided request, independent of the protocol.
//!
//! HTTP writes them into its responses; for gRPC, Envoy is asked to add them to its own.

mod applied_limits;
mod insert_headers;
mod message;
#[cfg(test)]
mod tests;
mod write_headers;

use std::borrow::Cow;

use sluicegate::{Check, DecidedBy, OnStoreError, Refusal, Scope, Time, Verdict};
use sluicegate_rules::{Evaluation, HeaderSettings, PlanOutcome, RequestPlan, Reset, Rule};

/// The facts about a decided request that go into headers and refusals.
#[derive(Debug, Clone, Copy)]
pub struct RateLimitInfo<'a> {
    pub(crate) settings: &'a HeaderSettings,
    outcome: PlanOutcome<'a>,
    allowed: bool,
    /// The checks and their verdict, unless the request had no checks.
    pub(crate) decided: Option<(&'a [Check<'a>], &'a Verdict)>,
    limits: LimitOwner<'a>,
    cost: u64,
    pub(crate) tier: Option<&'a str>,
}

/// The owner of the limits that were checked.
#[derive(Debug, Clone, Copy)]
enum LimitOwner<'a> {
    /// Rules.
    Rules(&'a RequestPlan<'a>),
    /// The request, which brought its own limit; it is reported under this name.
    Named(&'a str),
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request costs more than a limit has left.
    Quota,
    /// The store is unavailable: temporary, and not caused by the caller.
    Capacity,
    /// Too many failures.
    Abuse,
    /// The caller is on the block-list.
    Listed,
    /// The request lacks an identity.
    Unidentified,
}

impl RefusalKind {
    /// Returns its HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Quota | Self::Abuse => 429,
            Self::Capacity => 503,
            Self::Listed => 403,
            Self::Unidentified => 401,
        }
    }
}

impl<'a> RateLimitInfo<'a> {
    /// Describes a request that was evaluated by rules.
    pub fn of(evaluation: &'a Evaluation<'a>) -> Self {
        let planned = evaluation.planned;
        Self {
            settings: planned.rules().headers(),
            outcome: planned.outcome(),
            allowed: evaluation.is_allowed(),
            decided: evaluation.verdict.map(|verdict| (planned.plan().checks(), verdict)),
            limits: LimitOwner::Rules(planned),
            cost: planned.cost(),
            tier: planned.tier(),
        }
    }

    /// Describes a request that brought its own limit, reported under this name.
    pub fn named(
        name: &'a str,
        checks: &'a [Check<'a>],
        verdict: &'a Verdict,
        cost: u64,
        settings: &'a HeaderSettings,
    ) -> Self {
        Self {
            settings,
            outcome: PlanOutcome::Check,
            allowed: verdict.is_allowed(),
            decided: Some((checks, verdict)),
            limits: LimitOwner::Named(name),
            cost,
            tier: None,
        }
    }

    /// Returns the time if a header needs it.
    ///
    /// Otherwise the epoch: `now` is not called, because reading a clock has a cost.
    pub fn time(&self, now: impl FnOnce() -> Time) -> Time {
        match self.settings.reset {
            Reset::Delta => Time::EPOCH,
            Reset::Epoch => now(),
        }
    }

    /// Returns the kind of the refusal; `None` if the request is allowed.
    pub fn refused(&self) -> Option<RefusalKind> {
        if self.allowed {
            return None;
        }
        Some(match self.outcome {
            PlanOutcome::Blocked => RefusalKind::Listed,
            PlanOutcome::Unidentified { .. } => RefusalKind::Unidentified,
            PlanOutcome::Check | PlanOutcome::Free => match self.refusal() {
                Some(Refusal::Unreachable) => RefusalKind::Capacity,
                Some(Refusal::Blocked { .. }) => RefusalKind::Abuse,
                _ => RefusalKind::Quota,
            },
        })
    }

    /// Returns the refusal of the strictest limit.
    fn refusal(&self) -> Option<Refusal> {
        let (_, verdict) = self.decided.filter(|_| !self.allowed)?;
        verdict.strictest()?.decision.refusal()
    }

    /// Returns the rule that a check belongs to.
    fn rule(&self, check: usize) -> Option<&'a Rule> {
        match self.limits {
            LimitOwner::Rules(planned) => planned.rule(check),
            LimitOwner::Named(_) => None,
        }
    }

    /// Returns the policy name of a check's limit.
    pub(crate) fn policy(&self, index: usize, check: &Check<'a>) -> Cow<'a, str> {
        match (self.limits, self.rule(index)) {
            (_, Some(rule)) => rule.policy_name(check.limit()),
            (LimitOwner::Named(name), None) => Cow::Borrowed(name),
            (LimitOwner::Rules(_), None) => Cow::Borrowed(check.limit().name()),
        }
    }
}

/// Returns whether a check was decided without its counter, because the store was unavailable.
///
/// The state of the counter is unknown then.
pub fn is_unasked(check: &Check<'_>, verdict: &Verdict) -> bool {
    matches!(verdict.by(), DecidedBy::Share | DecidedBy::Policy)
        && check.scope() == Scope::Cluster
        && check.outage() != OnStoreError::Local
}
