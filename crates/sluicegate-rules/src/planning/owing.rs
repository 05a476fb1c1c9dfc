//! From a rule that applies to its checks.

use sluicegate::{Ask, Check, Cost};

use super::walking::{Applied, Lent, Rescale};
use super::{Desk, Planned, Purpose};
use crate::limits::Windows;
use crate::rule::{Ended, Mode, Rule};

impl<'p> Planned<'p> {
    /// Owes what a rule that applies asks for.
    pub(super) fn owe(
        &mut self,
        one: &Applied<'p>,
        rescales: &[Rescale<'p>],
        purpose: Purpose,
        desk: &'p Desk,
    ) {
        let (rules, index) = (self.rules, one.rule);
        let Some(rule) = usize::try_from(index).ok().and_then(|index| rules.rules.get(index))
        else {
            return;
        };
        let key = desk.keys.get(one.key.clone());
        let cost = Cost::new(one.cost).unwrap_or(Cost::MAX);
        self.cost = self.cost.max(cost.units());
        // What has happened already is not asked whether it may.
        let asks = !matches!(purpose, Purpose::Charge | Purpose::Refund);
        if let Some(cooldown) = rule.cooldown.as_ref().filter(|_| asks) {
            let ask = match cooldown.ended(purpose) {
                Some(Ended::Failure) => Ask::Charge(cost),
                Some(Ended::Success) => Ask::Refund(Cost::ONE),
                // A request is one attempt, however many units it costs.
                None if cooldown.limit.uses_up() => Ask::acquire(cost.min(Cost::ONE)),
                None => Ask::peek(),
            };
            let check = rule.check(&cooldown.limit, key);
            self.push(rule, index, check.ask(ask));
            if purpose != Purpose::Take {
                // A charge does not say whether it was one too many; a look does, in nobody's way.
                self.push(rule, index, check.ask(Ask::peek()).observed());
            }
        }
        if matches!(purpose, Purpose::Failure(_) | Purpose::Success) {
            return;
        }
        for change in rescales.iter().filter(|change| change.rule == index) {
            let ask = Ask::Rescale { from: change.from, id: change.id };
            self.push(rule, index, rule.check(change.limit, key).ask(ask));
        }
        let windows = match one.windows {
            Lent::Nobody => return,
            Lent::Rules(windows) => windows,
            Lent::Kept(place) => match desk.kept.get(place) {
                Some(windows) => windows,
                None => return,
            },
        };
        self.unlimited |= *windows == Windows::Unlimited;
        for owing in windows.owed() {
            let cost = Cost::new(owing.units(cost.units())).unwrap_or(Cost::MAX);
            let check = rule.check(&owing.limit, key);
            let after = match purpose {
                Purpose::Charge => Some(Ask::Charge(cost)),
                Purpose::Refund => Some(Ask::Refund(cost)),
                Purpose::Take | Purpose::Failure(_) | Purpose::Success => None,
            };
            if let Some(ask) = after {
                // Nothing is in flight any more.
                if !owing.limit.holds() {
                    self.push(rule, index, check.ask(ask));
                }
                continue;
            }
            // What nearly every request costs is what a check asks for by itself.
            let check = if cost == Cost::ONE { check } else { check.cost(cost) };
            self.push(rule, index, check);
            if let Some(beyond) = &owing.beyond {
                let check = rule.check(&beyond.limit, key).cost(cost).delayed(beyond.delay);
                self.push(rule, index, check.or_else());
            }
        }
    }

    fn push(&mut self, rule: &Rule, index: u32, check: Check<'p>) {
        let check = if rule.mode == Mode::Shadow { check.observed() } else { check };
        self.plan.require(check);
        self.owed_to.push(index);
    }
}
