//! The checks of a rule that applies.

use sluicegate::{Check, Cost, Operation};
use smallvec::SmallVec;

use super::collect::{AppliedRule, CallerRescale, LimitSource};
use super::{PlanBuffer, RequestPlan};
use crate::request::purpose::Purpose;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::{Mode, RequestResult, Rule};

impl<'p> RequestPlan<'p> {
    /// Adds the checks of all rules that apply: those of shadow rules after the others.
    ///
    /// A shadow rule is a set of its own. A report charges each rule independently, so that the
    /// checks of all of them are in one set.
    pub(super) fn emit_all(
        &mut self,
        applied: &[AppliedRule<'p>],
        rescales: &[CallerRescale<'p>],
        purpose: Purpose,
        buffer: &'p PlanBuffer,
    ) {
        let is_report = matches!(purpose, Purpose::Failure(_) | Purpose::Success);
        if is_report {
            self.plan.independently();
        }
        let rules = self.rules;
        let rule_of = |one: &AppliedRule<'p>| &rules.rules[one.rule as usize];
        let is_shadow = |one: &&AppliedRule<'p>| !is_report && rule_of(one).mode == Mode::Shadow;
        for one in applied.iter().filter(|one| !is_shadow(one)) {
            let require = |planned: &mut Self, check| {
                planned.plan.require(check);
                planned.rule_indexes.push(one.rule);
            };
            self.emit((one, rule_of(one)), rescales, purpose, buffer, require);
        }
        for one in applied.iter().filter(is_shadow) {
            let mut checks: SmallVec<[Check<'p>; 4]> = SmallVec::new();
            let collect = |planned: &mut Self, check| {
                checks.push(check);
                planned.rule_indexes.push(one.rule);
            };
            self.emit((one, rule_of(one)), rescales, purpose, buffer, collect);
            self.plan.observe(checks);
        }
    }

    /// Passes the checks of a rule that applies to `push`.
    fn emit(
        &mut self,
        (one, rule): (&AppliedRule<'p>, &'p Rule),
        rescales: &[CallerRescale<'p>],
        purpose: Purpose,
        buffer: &'p PlanBuffer,
        mut push: impl FnMut(&mut Self, Check<'p>),
    ) {
        let index = one.rule;
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
            push(self, check.with_operation(operation));
            if purpose != Purpose::Take {
                // A charge does not report whether it reached the limit, so peek afterwards.
                push(self, check.with_operation(Operation::peek()));
            }
        }
        if matches!(purpose, Purpose::Failure(_) | Purpose::Success) {
            return;
        }
        for change in rescales.iter().filter(|change| change.rule == index) {
            let rescale = Operation::Rescale { from: change.from, id: change.id };
            push(self, rule.check(change.limit, key).with_operation(rescale));
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
                    push(self, check.with_operation(operation));
                }
                continue;
            }
            // Nearly every request costs one unit, which is the default of a check.
            let check = if cost == Cost::ONE { check } else { check.cost(cost) };
            push(self, check);
            if let Some(soft) = &rule_limit.soft {
                let check = rule.check(&soft.limit, key).cost(cost).delayed(soft.delay);
                push(self, check.or_else());
            }
        }
    }
}
