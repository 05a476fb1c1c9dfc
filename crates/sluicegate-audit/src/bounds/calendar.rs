//! The bound on each calendar period in UTC.

use sluicegate::period_at;
use sluicegate_core::{Per, Period, Time};

use super::TimeInterval;

#[derive(Debug, Clone)]
pub(crate) struct CalendarBound {
    amount: u64,
    budget: u64,
    per: Per,
    clock_error: u64,
    period: Option<Period>,
    admitted: u64,
}

impl CalendarBound {
    pub(super) fn new(amount: u64, per: Per, clock_error: u64) -> Self {
        Self { amount, budget: amount, per, clock_error, period: None, admitted: 0 }
    }

    /// Counts an admission; `None` so close to an edge that a clock may have been past it.
    pub(super) fn admit(&mut self, at: u64, cost: u64) -> Option<TimeInterval> {
        let period = period_at(self.per, Time::from_micros(at));
        let (from, until) = (period.start().as_micros(), period.end().as_micros());
        if at - from.min(at) < self.clock_error || until - at.min(until) <= self.clock_error {
            // Never the case without a clock error: the end is after every time of the period.
            return None;
        }
        let before = if self.period == Some(period) { self.admitted } else { 0 };
        let admitted = before.saturating_add(cost);
        let interval = TimeInterval { admitted, allowed: self.amount, from, until };
        let counted = if interval.is_over() { before } else { admitted };
        (self.period, self.admitted) = (Some(period), counted);
        Some(interval)
    }

    pub(super) fn refund(&mut self, units: u64) {
        self.admitted = self.admitted.saturating_sub(units);
    }

    pub(super) fn reset(&mut self) {
        self.admitted = 0;
    }

    /// Adds the nodes' amount to the store's; each node has at least one unit.
    pub(super) fn loosen(&mut self, nodes: u64) {
        self.amount = self.budget.saturating_add(self.budget.max(nodes));
    }

    pub(super) const fn budget(&self) -> u64 {
        self.budget
    }
}
