//! The limits of a rule.

use sluicegate::{Limit, Span};

use crate::rule_set::tiers::TierId;

/// The limits of a rule.
#[derive(Debug)]
pub(crate) enum Limits {
    /// None: the rule has only a cooldown.
    None,
    /// The same for all callers.
    Same(LimitSet),
    /// By tier, with an entry for each.
    ByTier(Vec<LimitSet>),
}

/// The limits of a rule for one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LimitSet {
    Unlimited,
    Limited(Vec<RuleLimit>),
}

/// One limit, with the soft limit beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleLimit {
    pub(crate) limit: Limit,
    pub(crate) soft: Option<SoftLimit>,
}

/// A soft limit: the requests that are admitted beyond a limit, with a delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SoftLimit {
    pub(crate) limit: Limit,
    /// The delay of each request that it admits.
    pub(crate) delay: Span,
}

impl Limits {
    /// The limits for a caller of this tier; `None` if the rule has none.
    pub(crate) fn of(&self, tier: Option<TierId>) -> Option<&LimitSet> {
        match self {
            Self::None => None,
            Self::Same(limits) => Some(limits),
            Self::ByTier(limits) => limits.get(tier?.0),
        }
    }

    /// All limit sets of the rule: one for each tier, or a single one.
    pub(crate) fn each(&self) -> &[LimitSet] {
        match self {
            Self::None => &[],
            Self::Same(limits) => std::slice::from_ref(limits),
            Self::ByTier(limits) => limits,
        }
    }

    pub(crate) fn is_by_tier(&self) -> bool {
        matches!(self, Self::ByTier(_))
    }
}

impl RuleLimit {
    /// The units to take for a request of this cost; always one slot of a concurrency limit.
    pub(crate) fn units(&self, cost: u64) -> u64 {
        if self.limit.holds() { cost.min(1) } else { cost }
    }
}

impl LimitSet {
    /// All limits, including soft ones.
    pub(crate) fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.rule_limits().iter().flat_map(|rule_limit| {
            let soft = rule_limit.soft.iter().map(|soft| &soft.limit);
            std::iter::once(&rule_limit.limit).chain(soft)
        })
    }

    pub(crate) fn rule_limits(&self) -> &[RuleLimit] {
        match self {
            Self::Unlimited => &[],
            Self::Limited(limits) => limits,
        }
    }
}
