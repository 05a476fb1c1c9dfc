//! The outcome of one limit of a decided request.

use sluicegate::{Check, DecidedBy, Decision, OnStoreError, Operation, Scope, Span};
use sluicegate_rules::{Mode, Rule};

use super::RateLimitInfo;

/// The outcome of one limit of a decided request.
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "independent facts that writers read")]
#[derive(Debug, Clone, Copy)]
pub struct LimitOutcome<'a> {
    /// The index of the check in its plan.
    pub index: usize,
    /// The check.
    pub check: &'a Check<'a>,
    /// The decision on it.
    pub decision: &'a Decision,
    /// The rule that it belongs to.
    pub rule: Option<&'a Rule>,
    /// Whether it is only reported.
    pub is_shadow: bool,
    /// Whether the state of its counter is known, because the store was available.
    pub is_known: bool,
    /// Whether it, or an alternative to it, admits.
    pub term_admits: bool,
    /// Whether the set that it belongs to was admitted.
    pub set_admitted: bool,
}

impl LimitOutcome<'_> {
    /// Returns whether it admitted in place of a limit that refuses.
    pub fn is_soft(&self) -> bool {
        self.check.is_alternative() && self.set_admitted && self.decision.is_allowed()
    }

    /// Returns the delay of a request that it admitted.
    pub fn delay(&self) -> Span {
        if self.set_admitted && self.decision.is_allowed() {
            self.decision.delay() + self.check.delay_if_admitted()
        } else {
            Span::ZERO
        }
    }
}

impl<'a> RateLimitInfo<'a> {
    /// Returns the outcome of the check at an index.
    ///
    /// `None` for an alternative that was not needed, and for a rescale, which decides nothing.
    pub(super) fn limit(&self, index: usize) -> Option<LimitOutcome<'a>> {
        let (checks, verdict) = self.decided?;
        let (check, decisions) = (checks.get(index)?, verdict.decisions());
        let decision = decisions.get(index)?.as_ref()?;
        if matches!(check.operation(), Operation::Rescale { .. }) {
            return None;
        }
        let begins_term = |at: &usize| !checks[*at].is_alternative();
        let start = (0..=index).rev().find(begins_term).unwrap_or(0);
        let end = (index + 1..checks.len()).find(begins_term).unwrap_or(checks.len());
        let admits = |made: &Option<Decision>| made.is_some_and(|made| made.is_allowed());
        let without_store = matches!(verdict.by_of(index), DecidedBy::Share | DecidedBy::Policy);
        let rule = self.rule_of(index);
        Some(LimitOutcome {
            index,
            check,
            decision,
            rule,
            // In a report, the checks of all rules are in one set.
            is_shadow: index >= self.required || rule.is_some_and(|it| it.mode() == Mode::Shadow),
            is_known: !without_store
                || check.scope() == Scope::Node
                || check.outage() == OnStoreError::Local,
            term_admits: decisions[start..end].iter().any(admits),
            set_admitted: verdict.is_admitted(index),
        })
    }
}
