//! Burst and rate over every interval.
//!
//! Over all intervals that end with this admission, the largest of "what was admitted less what
//! came back meanwhile" is what was left of it last time, drained since, or nothing, and this
//! admission on top. So one number stands for all intervals, counted in units times microseconds
//! of the period, where nothing rounds.

use super::Interval;

#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    amount: u64,
    period: u64,
    /// What may be admitted in no time at all.
    burst: u64,
    /// What one loss of state hands out.
    budget: u64,
    /// For a queue: the last that leaves may have any cost, and times are whole microseconds.
    releases: bool,
    /// By how much clocks may make an interval look shorter than it was.
    slack: u64,
    level: u128,
    last: u64,
    from: u64,
    admitted: u64,
}

impl Envelope {
    pub(super) fn admitting(amount: u64, period: u64, burst: u64, clock_error: u64) -> Self {
        Self {
            amount,
            period,
            burst,
            budget: burst,
            releases: false,
            slack: clock_error.saturating_mul(2),
            level: 0,
            last: 0,
            from: 0,
            admitted: 0,
        }
    }

    pub(super) fn releasing(amount: u64, period: u64, places: u64, clock_error: u64) -> Self {
        let slack = clock_error.saturating_mul(2).saturating_add(1);
        let envelope = Self::admitting(amount, period, 0, clock_error);
        Self { budget: places, releases: true, slack, ..envelope }
    }

    pub(super) fn admit(&mut self, at: u64, cost: u64) -> Interval {
        let at = at.max(self.last);
        let drained = u128::from(at - self.last) * u128::from(self.amount);
        let mut next = self.clone();
        if self.level <= drained {
            (next.level, next.from, next.admitted) = (0, at, 0);
        } else {
            next.level -= drained;
        }
        next.last = at;
        next.level += u128::from(cost) * u128::from(self.period);
        next.admitted = next.admitted.saturating_add(cost);
        let interval = Interval {
            admitted: next.admitted,
            allowed: next.allowed(cost),
            from: next.from,
            until: at,
        };
        if !interval.is_over() {
            *self = next;
        }
        interval
    }

    /// What is allowed from `from` to `last`, where an admission of `cost` came last.
    fn allowed(&self, cost: u64) -> u64 {
        let length = u128::from(self.last - self.from) + u128::from(self.slack);
        let refilled = length * u128::from(self.amount) / u128::from(self.period);
        let refilled = u64::try_from(refilled).unwrap_or(u64::MAX);
        let at_once = self.burst.saturating_add(if self.releases { cost } else { 0 });
        refilled.saturating_add(at_once)
    }

    pub(super) fn give_back(&mut self, units: u64) {
        let units = units.min(self.admitted);
        self.admitted -= units;
        self.level = self.level.saturating_sub(u128::from(units) * u128::from(self.period));
    }

    /// Also the times that a queue had promised: it promises anew.
    pub(super) fn forget(&mut self) {
        (self.level, self.admitted, self.last) = (0, 0, 0);
    }

    /// Three bursts for one outage: the store's before, the nodes' meanwhile (one each at least),
    /// and the store's after, which has refilled in the meantime. Two more for each further one for
    /// which nothing was charged back.
    pub(super) fn loosen(&mut self, outages: u64, nodes: u64) {
        let more = self.budget.saturating_add(self.budget.max(nodes)).saturating_mul(outages);
        self.burst = self.budget.saturating_add(more);
    }

    pub(super) const fn budget(&self) -> u64 {
        self.budget
    }
}
