//! The checks of a rule that applies.

use sluicegate::{Check, Cost, Operation};

use super::collect::{AppliedRule, CallerRescale, LimitSource};
use super::{PlanBuffer, RequestPlan};
use crate::request::purpose::Purpose;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::{Mode, RequestResult, Rule};

impl<'p> RequestPlan<'p> {
    /// Adds the checks of a rule that applies.
    pub(super) fn emit(
        &mut self,
        one: &AppliedRule<'p>,
        rescales: &[CallerRescale<'p>],
        purpose: Purpose,
        buffer: &'p PlanBuffer,
    ) {
        let (rules, index) = (self.rules, one.rule);
        let Some(rule) = usize::try_from(index).ok().and_then(|index| rules.rules.get(index))
        else {
            return;
        };
        let key = buffer.keys.get(one.key.clone());
        let cost = Cost::new(one.cost).unwrap_or(Cost::MAX);
        self.cost = self.cost.max(cost.units());
        // Charges and refunds of past requests cannot be refused, so cooldowns do not apply to
        // them.
        let may_refuse = !matches!(purpose, Purpose::Charge | Purpose::Refund);
        if let Some(cooldown) = rule.cooldown.as_ref().filter(|_| may_refuse) {
            let operation = match cooldown.reported_result(purpose) {
                Some(RequestResult::Failure) => Operation::Charge(cost),
                Some(RequestResult::Success) => Operation::Refund(Cost::ONE),
                // A request is one attempt for any cost.
                None if cooldown.limit.uses_up() => Operation::acquire(cost.min(Cost::ONE)),
                None => Operation::peek(),
            };
            let check = rule.check(&cooldown.limit, key);
            self.push(rule, index, check.with_operation(operation));
            if purpose != Purpose::Take {
                // A charge does not report whether it reached the limit, so peek afterwards. The
                // peek is observed, so that it cannot refuse.
                self.push(rule, index, check.with_operation(Operation::peek()).observed());
            }
        }
        if matches!(purpose, Purpose::Failure(_) | Purpose::Success) {
            return;
        }
        for change in rescales.iter().filter(|change| change.rule == index) {
            let rescale = Operation::Rescale { from: change.from, id: change.id };
            self.push(rule, index, rule.check(change.limit, key).with_operation(rescale));
        }
        let limits = match one.limits {
            LimitSource::None => return,
            LimitSource::Rules(limits) => limits,
            LimitSource::Buffered(place) => match buffer.limit_sets.get(place) {
                Some(limits) => limits,
                None => return,
            },
        };
        self.unlimited |= *limits == LimitSet::Unlimited;
        for rule_limit in limits.rule_limits() {
            let cost = Cost::new(rule_limit.units(cost.units())).unwrap_or(Cost::MAX);
            let check = rule.check(&rule_limit.limit, key);
            let past = match purpose {
                Purpose::Charge => Some(Operation::Charge(cost)),
                Purpose::Refund => Some(Operation::Refund(cost)),
                Purpose::Take | Purpose::Failure(_) | Purpose::Success => None,
            };
            if let Some(operation) = past {
                // A past request holds no slot.
                if !rule_limit.limit.holds() {
                    self.push(rule, index, check.with_operation(operation));
                }
                continue;
            }
            // Nearly every request costs one unit, which is the default of a check.
            let check = if cost == Cost::ONE { check } else { check.cost(cost) };
            self.push(rule, index, check);
            if let Some(soft) = &rule_limit.soft {
                let check = rule.check(&soft.limit, key).cost(cost).delayed(soft.delay);
                self.push(rule, index, check.or_else());
            }
        }
    }

    fn push(&mut self, rule: &Rule, index: u32, check: Check<'p>) {
        let check = if rule.mode == Mode::Shadow { check.observed() } else { check };
        self.plan.require(check);
        self.rule_indexes.push(index);
    }
}
