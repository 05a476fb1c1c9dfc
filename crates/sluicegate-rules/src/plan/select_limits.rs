//! Selection of a rule's limits for a caller, at a time.

use std::sync::Arc;

use crate::request::context::RequestContext;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::Rule;
use crate::rule_set::tiers::TierId;

/// The limits of a rule for a caller.
///
/// An override for the caller takes precedence over an override of the rule, and both over the
/// rule.
#[derive(Debug)]
pub(crate) enum SelectedLimits<'p> {
    /// From an override for the caller.
    Caller(Arc<LimitSet>),
    /// From an override of the rule.
    Override(&'p LimitSet),
    /// The rule's own, for the caller's tier if the limits depend on it.
    Own { limits: Option<&'p LimitSet>, tier: Option<TierId> },
}

impl<'p> SelectedLimits<'p> {
    pub(crate) fn of(rule: &'p Rule, context: &mut RequestContext<'p>) -> Self {
        let now = context.now;
        let mut records = context.caller_records().iter();
        let own = records.find_map(|(_, record)| record.override_at(&rule.name, now));
        if let Some(limits) = own {
            return Self::Caller(Arc::clone(limits));
        }
        let for_all = rule.overrides.iter().rev().find(|(during, _)| during.contains(now));
        if let Some((_, limits)) = for_all {
            return Self::Override(limits);
        }
        let tier = if rule.limits.is_by_tier() { context.tier() } else { None };
        Self::Own { limits: rule.limits.of(tier), tier }
    }

    pub(crate) fn limits(&self) -> Option<&LimitSet> {
        match self {
            Self::Caller(limits) => Some(limits),
            Self::Override(limits) => Some(limits),
            Self::Own { limits, .. } => *limits,
        }
    }
}
