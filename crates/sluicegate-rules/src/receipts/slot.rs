//! Tokens for concurrency slots: issued, released and renewed.

use sluicegate::{Cost, Operation, Plan, Span, Verdict};
use sluicegate_core::Parameters;

use crate::plan::RequestPlan;
use crate::receipts::token::{ReceiptKind, ReceiptToken, TokenEntry, TokenSigner, TokenWriter};
use crate::rule_set::RuleSet;

/// The result of releasing slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseOutcome {
    /// The number of slots that were released.
    pub released: usize,
    /// The number of slots that had expired, were released before, or belong to removed rules.
    pub gone: usize,
}

/// The result of renewing slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenewOutcome {
    /// The number of slots that were renewed.
    pub renewed: usize,
    /// The number of slots that had expired, were released, or belong to removed rules.
    pub gone: usize,
    /// The shortest lease of the renewed slots, from now on; `None` if none was renewed.
    pub lease: Option<Span>,
}

/// The token for the slots that a verdict granted; `None` if there are none.
pub(crate) fn write(
    planned: &RequestPlan<'_>,
    verdict: &Verdict,
    signer: TokenSigner<'_>,
) -> Option<String> {
    let held = |index: usize| planned.plan().checks().get(index).filter(|it| it.limit().holds());
    let decisions = verdict.decisions().iter().enumerate();
    let mut held = decisions
        .filter(|_| verdict.is_allowed())
        .filter_map(|(index, made)| Some((held(index)?, made.as_ref()?.receipt()?)))
        .peekable();
    held.peek()?;
    let mut text = TokenWriter::new(ReceiptKind::Slot, planned.tier(), signer);
    for (check, receipt) in held {
        text.add(check, receipt, true);
    }
    text.finish()
}

/// The plan that releases slots; slots of removed rules are skipped.
pub(crate) fn release<'p>(held: &'p ReceiptToken, rules: &'p RuleSet) -> Plan<'p> {
    each(held, rules, |entry| Operation::Settle { receipt: entry.receipt, actual: Cost::ZERO })
}

/// The plan that renews slots for another lease.
pub(crate) fn renew<'p>(held: &'p ReceiptToken, rules: &'p RuleSet) -> Plan<'p> {
    each(held, rules, |entry| Operation::Renew(entry.receipt))
}

impl ReceiptToken {
    /// The result of releasing these slots.
    pub(crate) fn released(&self, verdict: Option<&Verdict>) -> ReleaseOutcome {
        let released = allowed(verdict).count();
        ReleaseOutcome { released, gone: self.entries.len() - released }
    }

    /// The result of renewing these slots by `plan`.
    pub(crate) fn renewed(&self, plan: &Plan<'_>, verdict: Option<&Verdict>) -> RenewOutcome {
        let renewed = allowed(verdict).count();
        let lease = |index: usize| match plan.checks().get(index)?.limit().figures() {
            Parameters::Concurrency { lease, .. } => Some(lease),
            _ => None,
        };
        let lease = allowed(verdict).filter_map(lease).min();
        RenewOutcome { renewed, gone: self.entries.len() - renewed, lease }
    }
}

/// The indexes of the checks that were allowed.
fn allowed(verdict: Option<&Verdict>) -> impl Iterator<Item = usize> {
    let decisions = verdict.map(Verdict::decisions).unwrap_or_default().iter().enumerate();
    decisions.filter(|(_, made)| made.is_some_and(|made| made.is_allowed())).map(|(index, _)| index)
}

fn each<'p>(
    held: &'p ReceiptToken,
    rules: &'p RuleSet,
    operation: impl Fn(&TokenEntry) -> Operation,
) -> Plan<'p> {
    let mut plan = Plan::new();
    for entry in &held.entries {
        if let Some((limit, rule)) = held.limit_of(entry, rules).filter(|(it, _)| it.holds()) {
            plan.require(rule.check(limit, &entry.key).with_operation(operation(entry)));
        }
    }
    // An expired slot must not prevent the others from being released.
    plan.independently();
    plan
}
