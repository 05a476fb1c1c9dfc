//! What a caller is told about a request that was decided: headers and refusals, in no protocol's words.
//!
//! HTTP writes them into its answers, Envoy is asked to add them to its own.

mod detail;
mod header;
mod met;
mod problem;
#[cfg(test)]
mod tests;
mod writing;

use std::borrow::Cow;

use sluicegate::{By, Check, Outage, Refusal, Scope, Time, Verdict};
use sluicegate_rules::{Answered, HeaderSettings, Outcome, Planned, Reset, Rule};

pub(crate) use self::header::{Family, Header, Spelling};
pub(crate) use self::problem::Problem;

/// What is told about a request that was decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    settings: &'a HeaderSettings,
    outcome: Outcome<'a>,
    allowed: bool,
    /// What was asked, and what the answer was, if there was anything to ask.
    asked: Option<(&'a [Check<'a>], &'a Verdict)>,
    limits: Owner<'a>,
    cost: u64,
    tier: Option<&'a str>,
}

/// Whose limits were asked.
#[derive(Debug, Clone, Copy)]
enum Owner<'a> {
    /// Those of rules.
    Rules(&'a Planned<'a>),
    /// One that came with the request, under this name.
    Named(&'a str),
}

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// More was asked for than a limit has left.
    Quota,
    /// The store is not there: nobody's fault, and over soon.
    Capacity,
    /// Too many failures.
    Abuse,
    /// The caller is on the block-list.
    Listed,
    /// It is not known who is asking.
    Unidentified,
}

impl Kind {
    /// The HTTP status that says so.
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::Quota | Self::Abuse => 429,
            Self::Capacity => 503,
            Self::Listed => 403,
            Self::Unidentified => 401,
        }
    }
}

impl<'a> Told<'a> {
    /// About a request that goes by rules.
    pub(crate) fn answered(answered: &'a Answered<'a>) -> Self {
        let planned = answered.planned;
        Self {
            settings: planned.rules().headers(),
            outcome: planned.outcome(),
            allowed: answered.is_allowed(),
            asked: answered.verdict.map(|verdict| (planned.plan().checks(), verdict)),
            limits: Owner::Rules(planned),
            cost: planned.cost(),
            tier: planned.tier(),
        }
    }

    /// About a request that brought its own limit, which is told under this name.
    pub(crate) fn named(
        name: &'a str,
        checks: &'a [Check<'a>],
        verdict: &'a Verdict,
        cost: u64,
        settings: &'a HeaderSettings,
    ) -> Self {
        Self {
            settings,
            outcome: Outcome::Ask,
            allowed: verdict.is_allowed(),
            asked: Some((checks, verdict)),
            limits: Owner::Named(name),
            cost,
            tier: None,
        }
    }

    /// The time, if anything that is told goes by it; a clock costs more to read than to leave alone.
    pub(crate) fn time(&self, now: impl FnOnce() -> Time) -> Time {
        match self.settings.reset {
            Reset::Delta => Time::EPOCH,
            Reset::Epoch => now(),
        }
    }

    /// What kind of refusal it is; `None` if it is none.
    pub(crate) fn refused(&self) -> Option<Kind> {
        if self.allowed {
            return None;
        }
        Some(match self.outcome {
            Outcome::Blocked => Kind::Listed,
            Outcome::Unidentified { .. } => Kind::Unidentified,
            Outcome::Ask | Outcome::Free => match self.refusal() {
                Some(Refusal::Unreachable) => Kind::Capacity,
                Some(Refusal::Blocked { .. }) => Kind::Abuse,
                _ => Kind::Quota,
            },
        })
    }

    /// Why the limit refused that stands in the way longest.
    fn refusal(&self) -> Option<Refusal> {
        let (_, verdict) = self.asked.filter(|_| !self.allowed)?;
        verdict.strictest()?.decision.refusal()
    }

    /// The rule that a check belongs to.
    fn rule(&self, check: usize) -> Option<&'a Rule> {
        match self.limits {
            Owner::Rules(planned) => planned.rule(check),
            Owner::Named(_) => None,
        }
    }

    /// What the limit of a check is called.
    fn policy(&self, index: usize, check: &Check<'a>) -> Cow<'a, str> {
        match (self.limits, self.rule(index)) {
            (_, Some(rule)) => rule.policy_name(check.limit()),
            (Owner::Named(name), None) => Cow::Borrowed(name),
            (Owner::Rules(_), None) => Cow::Borrowed(check.limit().name()),
        }
    }
}

/// Whether a check was answered without being asked, because the store was not there: how its
/// counter stands is not known.
pub(crate) fn is_unasked(check: &Check<'_>, verdict: &Verdict) -> bool {
    matches!(verdict.by(), By::Share | By::Policy)
        && check.scope() == Scope::Cluster
        && check.outage() != Outage::Local
}
