//! The steps of a thread, and their answers.

use sluicegate_core::{Check, Cost, Decision, Limit, Operation, Receipt};

use super::keys::{Key, name};
use crate::calendar::period_at;
use crate::clock::{Clock, ManualClock};
use crate::memory::fingerprint::Fingerprint;
use crate::store::Applied;

/// One set of checks.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) checks: Vec<StepCheck>,
}

/// One check of a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepCheck {
    limit: &'static Limit,
    key: Key,
    action: Action,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Operation(Operation),
    /// Refunds the thread's last take from this limit for this key.
    Refund,
}

/// The answer to a step.
#[derive(Debug, Clone)]
pub(super) struct StepResult {
    pub(super) decisions: Vec<Option<Decision>>,
    pub(super) applied: Applied,
}

impl Step {
    /// Returns the keys that the step took from.
    pub(super) fn taken(&self) -> impl Iterator<Item = Key> {
        let takes = |checks: &&StepCheck| match checks.action {
            Action::Operation(Operation::Take(take)) => take.most() > 0,
            _ => false,
        };
        self.checks.iter().filter(takes).map(|checks| checks.key)
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.checks.extend(other.checks);
        self
    }
}

fn step(limit: &'static Limit, key: Key, action: Action) -> Step {
    Step { checks: vec![StepCheck { limit, key, action }] }
}

pub(super) fn take(limit: &'static Limit, key: Key) -> Step {
    take_many(limit, key, 1)
}

pub(super) fn take_many(limit: &'static Limit, key: Key, units: u32) -> Step {
    step(limit, key, Action::Operation(Operation::acquire(Cost::from(units))))
}

pub(super) fn peek(limit: &'static Limit, key: Key) -> Step {
    step(limit, key, Action::Operation(Operation::peek()))
}

pub(super) fn reset(limit: &'static Limit, key: Key) -> Step {
    step(limit, key, Action::Operation(Operation::Reset))
}

pub(super) fn refund(limit: &'static Limit, key: Key) -> Step {
    step(limit, key, Action::Refund)
}

impl StepCheck {
    pub(super) fn counter(&self) -> (&'static Limit, Key) {
        (self.limit, self.key)
    }

    fn name(&self) -> Fingerprint {
        name(self.limit, self.key)
    }

    /// Returns the check; `receipt` is the thread's last take from this counter.
    pub(super) fn check(&self, receipt: Option<Receipt>) -> Check<'_> {
        let operation = match (self.action, receipt) {
            (Action::Operation(operation), _) => operation,
            (Action::Refund, Some(receipt)) => Operation::Settle { receipt, actual: Cost::ZERO },
            // The take was refused: there is nothing to refund.
            (Action::Refund, None) => Operation::peek(),
        };
        let check = Check::new(self.limit, &self.key).with_operation(operation);
        match self.limit.calendar() {
            // No run crosses the end of a period.
            Some(per) => check.within(period_at(per, ManualClock::default().now())),
            None => check,
        }
    }
}

impl Step {
    /// Returns the checks, with these receipts.
    pub(super) fn checks(&self, receipts: &[Option<Receipt>]) -> Vec<Check<'_>> {
        self.checks.iter().zip(receipts).map(|(checks, receipt)| checks.check(*receipt)).collect()
    }
}

/// The receipts of a thread.
#[derive(Debug, Default)]
pub(super) struct Receipts(Vec<(Fingerprint, Option<Receipt>)>);

impl Receipts {
    /// Returns the receipts that the checks of a step may refund.
    pub(super) fn of(&self, step: &Step) -> Vec<Option<Receipt>> {
        let last = |checks: &StepCheck| self.0.iter().rfind(|kept| kept.0 == checks.name())?.1;
        step.checks.iter().map(last).collect()
    }

    pub(super) fn keep(&mut self, step: &Step, answer: &StepResult) {
        for (checks, decision) in step.checks.iter().zip(&answer.decisions) {
            let receipt = decision.as_ref().and_then(|decision| decision.receipt().copied());
            self.0.push((checks.name(), receipt));
        }
    }
}
