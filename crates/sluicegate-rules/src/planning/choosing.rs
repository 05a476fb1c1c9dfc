//! Which limits a rule has for a caller, at a time.

use std::sync::Arc;

use crate::facts::Facts;
use crate::limits::Windows;
use crate::rule::Rule;
use crate::tier::TierId;

/// The limits that a rule has for a caller: what is said of the caller counts before what is said of
/// the rule for a time, and both before the rule itself.
#[derive(Debug)]
pub(crate) enum Chosen<'p> {
    /// By an override for the caller.
    Caller(Arc<Windows>),
    /// By an override of the rule.
    Override(&'p Windows),
    /// The rule's own, for the caller's tier where they go by tier.
    Own { windows: Option<&'p Windows>, tier: Option<TierId> },
}

impl<'p> Chosen<'p> {
    pub(crate) fn of(rule: &'p Rule, facts: &mut Facts<'p>) -> Self {
        let now = facts.now;
        let mut standings = facts.standings().iter();
        let own = standings.find_map(|(_, standing)| standing.override_at(&rule.name, now));
        if let Some(windows) = own {
            return Self::Caller(Arc::clone(windows));
        }
        let for_all = rule.overrides.iter().rev().find(|(during, _)| during.contains(now));
        if let Some((_, windows)) = for_all {
            return Self::Override(windows);
        }
        let tier = if rule.limits.is_by_tier() { facts.tier() } else { None };
        Self::Own { windows: rule.limits.of(tier), tier }
    }

    pub(crate) fn windows(&self) -> Option<&Windows> {
        match self {
            Self::Caller(windows) => Some(windows),
            Self::Override(windows) => Some(windows),
            Self::Own { windows, .. } => *windows,
        }
    }
}
