//! The rate-limit headers and the refusal of a decided request, independent of the protocol.
//!
//! HTTP writes them into its responses; for gRPC, Envoy is asked to add them to its own.

mod applied_limits;
mod limit_outcome;
mod message;
#[cfg(test)]
mod tests;
mod write_headers;

use std::borrow::Cow;

use sluicegate::{Check, DecidedBy, Refusal, Span, Time, Verdict};
use sluicegate_rules::{Evaluation, HeaderSettings, PlanOutcome, RequestPlan, Reset, Rule};

pub use self::limit_outcome::LimitOutcome;

/// The facts about a decided request: what headers, bodies, metadata and metrics are made of.
#[derive(Debug, Clone, Copy)]
pub struct RateLimitInfo<'a> {
    pub(crate) settings: &'a HeaderSettings,
    outcome: PlanOutcome<'a>,
    allowed: bool,
    /// The checks and their verdict, unless the request had no checks.
    decided: Option<(&'a [Check<'a>], &'a Verdict)>,
    /// The number of checks that are enforced; those behind them are shadows.
    required: usize,
    limits: LimitOwner<'a>,
    cost: u64,
    tier: Option<&'a str>,
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
            required: planned.plan().required().len(),
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
            required: checks.len(),
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

    /// Returns whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        self.allowed
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
        self.verdict().filter(|_| !self.allowed)?.strictest()?.decision.refusal()
    }

    /// Returns the reason for the refusal as one word.
    pub fn reason(&self) -> Option<&'static str> {
        match self.outcome {
            PlanOutcome::Blocked => Some("listed"),
            PlanOutcome::Unidentified { .. } => Some("unidentified"),
            PlanOutcome::Check | PlanOutcome::Free => self.refusal().map(Refusal::as_str),
        }
    }

    /// Returns the name of the rule of the strictest limit, or that lacks an identity.
    pub fn rule(&self) -> Option<&'a str> {
        match (self.outcome, self.limits) {
            (PlanOutcome::Blocked, _) => None,
            (PlanOutcome::Unidentified { rule, .. }, _) => Some(rule),
            (_, LimitOwner::Named(name)) => Some(name),
            (_, LimitOwner::Rules(planned)) => {
                Some(planned.rule(self.verdict()?.strictest()?.check)?.name())
            }
        }
    }

    /// Returns the identity that the request lacks.
    pub fn identity(&self) -> Option<&'a str> {
        match self.outcome {
            PlanOutcome::Unidentified { identity, .. } => Some(identity),
            _ => None,
        }
    }

    /// Returns the tier of the caller.
    pub fn tier(&self) -> Option<&'a str> {
        self.tier
    }

    /// Returns the most that any limit charges for the request.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns the time after which a refused request would be admitted, where it is known.
    pub fn retry_after(&self) -> Option<Span> {
        self.verdict()?.retry_after()
    }

    /// Returns the delay of an allowed request.
    pub fn delay(&self) -> Span {
        self.verdict().map(Verdict::delay).unwrap_or_default()
    }

    /// Returns the origin of the decision.
    pub fn by(&self) -> DecidedBy {
        self.verdict().map(Verdict::by).unwrap_or_default()
    }

    /// Returns the limits that were decided, in the order of the plan: enforced ones, then shadows.
    ///
    /// Alternatives that were not needed are left out.
    pub fn limits(&self) -> impl Iterator<Item = LimitOutcome<'a>> + use<'a> {
        let info = *self;
        let checks = self.decided.map_or(0, |(checks, _)| checks.len());
        (0..checks).filter_map(move |index| info.limit(index))
    }

    /// Returns the limit that determines the verdict.
    pub fn strictest(&self) -> Option<LimitOutcome<'a>> {
        self.limit(self.verdict()?.strictest()?.check)
    }

    /// Returns whether limits were checked.
    pub(crate) fn has_checks(&self) -> bool {
        self.decided.is_some()
    }

    fn verdict(&self) -> Option<&'a Verdict> {
        self.decided.map(|(_, verdict)| verdict)
    }

    /// Returns the rule of this name.
    fn rule_named(&self, name: &str) -> Option<&'a Rule> {
        match self.limits {
            LimitOwner::Rules(planned) => {
                planned.rules().rules().iter().find(|rule| rule.name() == name)
            }
            LimitOwner::Named(_) => None,
        }
    }

    /// Returns the rule that a check belongs to.
    fn rule_of(&self, check: usize) -> Option<&'a Rule> {
        match self.limits {
            LimitOwner::Rules(planned) => planned.rule(check),
            LimitOwner::Named(_) => None,
        }
    }

    /// Returns the name of a limit in answers: that of its rule, with the window if it has several.
    pub fn policy_name(&self, limit: &LimitOutcome<'a>) -> Cow<'a, str> {
        match (self.limits, limit.rule) {
            (_, Some(rule)) => rule.policy_name(limit.check.limit()),
            (LimitOwner::Named(name), None) => Cow::Borrowed(name),
            (LimitOwner::Rules(_), None) => Cow::Borrowed(limit.check.limit().name()),
        }
    }
}
