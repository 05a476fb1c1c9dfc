//! Reservations: an estimated cost is charged in advance and settled once the actual cost is known.

use sluicegate::{Check, Cost, Decision, Operation, Plan, Receipt, Refusal, Verdict};

use crate::plan::RequestPlan;
use crate::receipts::token::{ReceiptKind, ReceiptToken, TokenSigner, TokenWriter};
use crate::request::context::RequestContext;
use crate::rule_set::RuleSet;
use crate::rule_set::rule::Rule;

/// The result of settling a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettleOutcome {
    /// The result of each limit that was charged, in the order of the rules.
    pub limits: Vec<SettledLimit>,
}

/// The result of settling one charge of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledLimit {
    /// The limit's name.
    pub limit: Box<str>,
    /// Its rule and algorithm; `None` if the rule was removed, or counts on another node.
    pub of: Option<(Box<str>, &'static str)>,
    /// The units that were charged in advance.
    pub estimated: u64,
    /// The decision of the store, whose [granted](Decision::granted) units are charged now; `None`
    /// if the store was not called for it.
    pub decision: Option<Decision>,
}

impl SettleOutcome {
    /// Whether this call settled it; false if it was settled before or has expired.
    pub fn is_settled(&self) -> bool {
        let made = || self.limits.iter().filter_map(|one| one.decision.as_ref());
        let spent = |made: &Decision| made.refusal() == Some(Refusal::Spent);
        // A spent charge means that it was settled before, even if another charge is settled only
        // now: one of scope `node` has to wait until the token reaches its node.
        made().any(Decision::is_allowed) && !made().any(spent)
    }

    /// The reason why this call did not settle it.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.is_settled() {
            return None;
        }
        let mut refusals = self.limits.iter().filter_map(|one| one.decision.as_ref()?.refusal());
        let spent = refusals.clone().find(|refusal| *refusal == Refusal::Spent);
        Some(spent.or_else(|| refusals.next()).unwrap_or(Refusal::Lost))
    }
}

/// The token for the charges of a verdict; `None` if it charged nothing.
pub(crate) fn write(
    planned: &RequestPlan<'_>,
    verdict: &Verdict,
    mut context: RequestContext<'_>,
    signer: TokenSigner<'_>,
) -> Option<String> {
    if !verdict.is_allowed() {
        return None;
    }
    let mut text = TokenWriter::new(ReceiptKind::Reservation, planned.tier(), signer);
    let decisions = planned.plan().checks().iter().zip(verdict.decisions()).enumerate();
    for (index, (check, made)) in decisions {
        let (Some(receipt), Some(rule)) = (charge(check, made.as_ref()), planned.rule(index))
        else {
            continue;
        };
        text.add(check, receipt, rule.costs.sets_price(&mut context));
    }
    text.finish()
}

/// The receipt of a charge that can be settled.
///
/// `None` for slots, which are released, and attempts, which are reported.
fn charge<'d>(check: &Check<'_>, made: Option<&'d Decision>) -> Option<&'d Receipt> {
    let settled = !check.limit().holds() && !check.limit().counts_failures();
    made.filter(|_| settled).and_then(Decision::receipt)
}

/// The final cost of a charge.
///
/// A rule with a fixed price, such as one per request, was not charged an estimate: it keeps its
/// price for any actual cost except zero.
fn final_cost(rule: &Rule, is_priced: bool, estimated: u64, actual: Cost) -> Cost {
    if actual == Cost::ZERO {
        return actual;
    }
    if is_priced {
        return Cost::new(estimated).unwrap_or(Cost::MAX);
    }
    let most = rule.costs.max.and_then(|most| Cost::new(most.max(1)).ok());
    actual.min(most.unwrap_or(Cost::MAX))
}

/// The plan that settles a reservation, and the limit of each of its checks.
pub(crate) struct Settlement<'p> {
    pub(crate) plan: Plan<'p>,
    limits: Vec<SettledLimit>,
}

impl<'p> Settlement<'p> {
    pub(crate) fn new(token: &'p ReceiptToken, rules: &'p RuleSet, actual: Cost) -> Self {
        let mut plan = Plan::new();
        let limits = token.entries.iter().map(|entry| {
            let of = token.limit_of(entry, rules);
            if let Some((limit, rule)) = of {
                let actual = final_cost(rule, entry.is_priced, entry.receipt.units(), actual);
                let settle = Operation::Settle { receipt: entry.receipt, actual };
                plan.require(rule.check(limit, &entry.key).with_operation(settle));
            }
            SettledLimit {
                limit: match of {
                    Some((limit, rule)) => rule.policy_name(limit).into(),
                    None => entry.limit().into(),
                },
                of: of.map(|(limit, rule)| (rule.name.clone(), limit.algorithm())),
                estimated: entry.receipt.units(),
                decision: None,
            }
        });
        let limits = limits.collect();
        // One step for all checks, but independent ones: an expired charge of a short window must
        // not prevent the others from being settled.
        plan.independently();
        Self { plan, limits }
    }

    pub(crate) fn settled(mut self, verdict: Option<&Verdict>) -> SettleOutcome {
        let mut decisions = verdict.map(Verdict::decisions).unwrap_or_default().iter();
        for checked in self.limits.iter_mut().filter(|one| one.of.is_some()) {
            checked.decision = decisions.next().copied().flatten();
        }
        SettleOutcome { limits: self.limits }
    }
}
