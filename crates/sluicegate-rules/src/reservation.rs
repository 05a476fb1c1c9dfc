//! Reservations: what a request may cost is charged before it is made, and settled when that is known.

use sluicegate::{Ask, Check, Cost, Decision, Plan, Receipt, Refusal, Verdict};

use crate::charged::{self, Kind, Pen, Told, Writing};
use crate::facts::Facts;
use crate::planning::Planned;
use crate::rule::Rule;
use crate::ruleset::RuleSet;

/// A reservation that was not given out by us, or not as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAReservation;

impl std::fmt::Display for NotAReservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "it is not a reservation that was given out here; send back the text of `reservation` as \
             it was",
        )
    }
}

impl std::error::Error for NotAReservation {}

/// What became of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Each limit that was charged, in the order of the rules.
    pub limits: Vec<SettledLimit>,
}

/// What became of one charge of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledLimit {
    /// The limit's name.
    pub limit: Box<str>,
    /// Its rule and its algorithm; `None` if that rule is gone, or counts on another node.
    pub of: Option<(Box<str>, &'static str)>,
    /// What was charged at first.
    pub estimated: u64,
    /// What the store said: what is [granted](Decision::granted) is what is charged now. `None` if it
    /// was not asked.
    pub decision: Option<Decision>,
}

impl Settled {
    /// Whether this settled it: not if it was settled before, or is too old.
    pub fn is_settled(&self) -> bool {
        let made = || self.limits.iter().filter_map(|one| one.decision.as_ref());
        let spent = |made: &Decision| made.refusal() == Some(Refusal::Spent);
        // What one node counts for itself may have had to wait until it came there.
        made().any(Decision::is_allowed) && !made().any(spent)
    }

    /// Why it was not.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.is_settled() {
            return None;
        }
        let mut refusals = self.limits.iter().filter_map(|one| one.decision.as_ref()?.refusal());
        let spent = refusals.clone().find(|refusal| *refusal == Refusal::Spent);
        Some(spent.or_else(|| refusals.next()).unwrap_or(Refusal::Lost))
    }
}

/// The text for everything that a verdict charged; `None` if that is nothing.
pub(crate) fn write(
    planned: &Planned<'_>,
    verdict: &Verdict,
    mut facts: Facts<'_>,
    pen: Pen<'_>,
) -> Option<String> {
    if !verdict.is_allowed() {
        return None;
    }
    let mut text = Writing::new(Kind::Reservation, planned.tier(), pen);
    let decisions = planned.plan().checks().iter().zip(verdict.decisions()).enumerate();
    for (index, (check, made)) in decisions {
        let (Some(receipt), Some(rule)) = (charge(check, made.as_ref()), planned.rule(index))
        else {
            continue;
        };
        text.add(check, receipt, rule.costs.sets_price(&mut facts));
    }
    text.finish()
}

/// The receipt of a charge that can be settled: slots are released, and attempts are reported instead.
fn charge<'d>(check: &Check<'_>, made: Option<&'d Decision>) -> Option<&'d Receipt> {
    let settled = !check.limit().holds() && !check.limit().counts_failures();
    made.filter(|_| settled).and_then(Decision::receipt)
}

/// What a text says was charged.
pub(crate) fn read(text: &str, pen: Pen<'_>) -> Result<Told, NotAReservation> {
    charged::read(Kind::Reservation, text, pen).ok_or(NotAReservation)
}

/// What a rule is owed for a charge in the end.
///
/// A rule that prices requests itself, such as one for each, was charged no estimate: it keeps its price
/// whatever the request came to, unless that is nothing at all.
fn owed(rule: &Rule, is_priced: bool, estimated: u64, actual: Cost) -> Cost {
    if actual == Cost::ZERO {
        return actual;
    }
    if is_priced {
        return Cost::new(estimated).unwrap_or(Cost::MAX);
    }
    let most = rule.costs.max.and_then(|most| Cost::new(most.max(1)).ok());
    actual.min(most.unwrap_or(Cost::MAX))
}

/// A reservation on its way to the store: the plan that settles it, and whose each check is.
pub(crate) struct Settling<'p> {
    pub(crate) plan: Plan<'p>,
    limits: Vec<SettledLimit>,
}

impl<'p> Settling<'p> {
    pub(crate) fn new(told: &'p Told, rules: &'p RuleSet, actual: Cost) -> Self {
        let mut plan = Plan::new();
        let limits = told.charges.iter().map(|one| {
            let of = told.limit_of(one, rules);
            if let Some((limit, rule)) = of {
                let actual = owed(rule, one.is_priced, one.receipt.units(), actual);
                let ask = Ask::Settle { receipt: one.receipt, actual };
                plan.require(rule.check(limit, &one.key).ask(ask));
            }
            SettledLimit {
                limit: one.limit().into(),
                of: of.map(|(limit, rule)| (rule.name.clone(), limit.algorithm())),
                estimated: one.receipt.units(),
                decision: None,
            }
        });
        let limits = limits.collect();
        // One step for all; what has lapsed of a short window must not keep the others from being settled.
        plan.independently();
        Self { plan, limits }
    }

    pub(crate) fn settled(mut self, verdict: Option<&Verdict>) -> Settled {
        let mut decisions = verdict.map(Verdict::decisions).unwrap_or_default().iter();
        for asked in self.limits.iter_mut().filter(|one| one.of.is_some()) {
            asked.decision = decisions.next().copied().flatten();
        }
        Settled { limits: self.limits }
    }
}
