//! Slots in flight: given out as texts, brought back, and renewed.

use sluicegate::{Ask, Cost, Plan, Span, Verdict};
use sluicegate_core::Figures;

use crate::charged::{self, Charged, Kind, Pen, Told, Writing};
use crate::planning::Planned;
use crate::ruleset::RuleSet;

/// A slot that was not given out by us, or not as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotASlot;

impl std::fmt::Display for NotASlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "it is not a slot that was given out here; send back the text of `slot` as it was",
        )
    }
}

impl std::error::Error for NotASlot {}

/// What became of slots that were brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// How many were given back …
    pub released: usize,
    /// … and how many had run out, been given back before, or belonged to rules that are gone.
    pub gone: usize,
}

/// What became of slots that were to be kept for longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// How many are kept …
    pub renewed: usize,
    /// … and how many had run out, been given back, or belonged to rules that are gone.
    pub gone: usize,
    /// For how long they are kept, from now on: the shortest lease; `None` if none is.
    pub lease: Option<Span>,
}

/// The text for everything that a verdict lets its caller hold; `None` if that is nothing.
pub(crate) fn write(planned: &Planned<'_>, verdict: &Verdict, pen: Pen<'_>) -> Option<String> {
    let held = |index: usize| planned.plan().checks().get(index).filter(|it| it.limit().holds());
    let decisions = verdict.decisions().iter().enumerate();
    let mut held = decisions
        .filter(|_| verdict.is_allowed())
        .filter_map(|(index, made)| Some((held(index)?, made.as_ref()?.receipt()?)))
        .peekable();
    held.peek()?;
    let mut text = Writing::new(Kind::Slot, planned.tier(), pen);
    for (check, receipt) in held {
        text.add(check, receipt, true);
    }
    text.finish()
}

/// What a text says is held.
pub(crate) fn read(text: &str, pen: Pen<'_>) -> Result<Told, NotASlot> {
    charged::read(Kind::Slot, text, pen).ok_or(NotASlot)
}

/// The plan that gives it back. What belongs to a rule that is gone is gone with it.
pub(crate) fn release<'p>(held: &'p Told, rules: &'p RuleSet) -> Plan<'p> {
    each(held, rules, |one| Ask::Settle { receipt: one.receipt, actual: Cost::ZERO })
}

/// The plan that keeps it for another lease.
pub(crate) fn renew<'p>(held: &'p Told, rules: &'p RuleSet) -> Plan<'p> {
    each(held, rules, |one| Ask::Renew(one.receipt))
}

impl Told {
    /// What became of slots that were brought back.
    pub(crate) fn released(&self, verdict: Option<&Verdict>) -> Released {
        let released = done(verdict).count();
        Released { released, gone: self.charges.len() - released }
    }

    /// What became of slots that were to be renewed by this plan.
    pub(crate) fn renewed(&self, plan: &Plan<'_>, verdict: Option<&Verdict>) -> Renewed {
        let renewed = done(verdict).count();
        let lease = |index: usize| match plan.checks().get(index)?.limit().figures() {
            Figures::Concurrency { lease, .. } => Some(lease),
            _ => None,
        };
        let lease = done(verdict).filter_map(lease).min();
        Renewed { renewed, gone: self.charges.len() - renewed, lease }
    }
}

/// The checks of a plan that were answered with yes.
fn done(verdict: Option<&Verdict>) -> impl Iterator<Item = usize> {
    let decisions = verdict.map(Verdict::decisions).unwrap_or_default().iter().enumerate();
    decisions.filter(|(_, made)| made.is_some_and(|made| made.is_allowed())).map(|(index, _)| index)
}

fn each<'p>(held: &'p Told, rules: &'p RuleSet, ask: impl Fn(&Charged) -> Ask) -> Plan<'p> {
    let mut plan = Plan::new();
    for one in &held.charges {
        if let Some((limit, rule)) = held.limit_of(one, rules).filter(|(it, _)| it.holds()) {
            plan.require(rule.check(limit, &one.key).ask(ask(one)));
        }
    }
    // A slot that has run out must not keep the others from being given back.
    plan.independently();
    plan
}
