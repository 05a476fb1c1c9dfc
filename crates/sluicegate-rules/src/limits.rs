//! The limits that a rule asks for.

use sluicegate::{Limit, Quota, Span};

use crate::tier::TierId;

/// The limits of a rule.
#[derive(Debug)]
pub(crate) enum Limits {
    /// None: the rule has nothing but a cooldown.
    None,
    /// The same for everybody.
    Same(Windows),
    /// By tier, with an entry for each.
    ByTier(Vec<Windows>),
}

/// What one caller owes to a rule: several limits together, or nothing at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Windows {
    Unlimited,
    Owed(Vec<Owing>),
}

/// One limit, and what there is beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owing {
    pub(crate) limit: Limit,
    /// What the limit was made of; concurrency is made of no quota.
    pub(crate) quota: Option<Quota>,
    /// Whether a sliding window never exceeds.
    pub(crate) strict: bool,
    pub(crate) beyond: Option<Beyond>,
}

/// What is admitted beyond a limit: a soft limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beyond {
    pub(crate) limit: Limit,
    /// What the limit was made of.
    pub(crate) quota: Quota,
    /// How long each request is held back that is admitted by it.
    pub(crate) delay: Span,
}

impl Limits {
    /// What a caller of this tier owes; `None` if the rule has no limits.
    pub(crate) fn of(&self, tier: Option<TierId>) -> Option<&Windows> {
        match self {
            Self::None => None,
            Self::Same(windows) => Some(windows),
            Self::ByTier(windows) => windows.get(tier?.0),
        }
    }

    /// Every way the rule may be limited.
    pub(crate) fn each(&self) -> &[Windows] {
        match self {
            Self::None => &[],
            Self::Same(windows) => std::slice::from_ref(windows),
            Self::ByTier(windows) => windows,
        }
    }

    pub(crate) fn is_by_tier(&self) -> bool {
        matches!(self, Self::ByTier(_))
    }
}

impl Owing {
    /// What is asked of the limit for a request of this cost: in flight it is one, whatever it costs.
    pub(crate) fn units(&self, cost: u64) -> u64 {
        if self.limit.holds() { cost.min(1) } else { cost }
    }
}

impl Windows {
    /// Every limit, those beyond others too, and what it was made of.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (&Limit, Option<Quota>)> {
        self.owed().iter().flat_map(|owing| {
            let beyond = owing.beyond.iter().map(|beyond| (&beyond.limit, Some(beyond.quota)));
            std::iter::once((&owing.limit, owing.quota)).chain(beyond)
        })
    }

    pub(crate) fn owed(&self) -> &[Owing] {
        match self {
            Self::Unlimited => &[],
            Self::Owed(owed) => owed,
        }
    }
}
