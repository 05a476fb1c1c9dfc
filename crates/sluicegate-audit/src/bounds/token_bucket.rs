//! The bound of burst and rate over every interval.
//!
//! Over all intervals that end with an admission, the maximum of "admitted units minus those
//! refilled meanwhile" is the previous maximum, drained since, but at least zero, plus this
//! admission. So one number covers all intervals, counted in units times microseconds of the
//! period, where nothing is rounded.

use super::TimeInterval;

#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    amount: u64,
    period: u64,
    /// The units that may be admitted in an interval of length zero.
    burst: u64,
    /// The units that one loss of state grants.
    budget: u64,
    /// For a queue: the last request may have any cost, and times are whole microseconds.
    releases: bool,
    /// The most by which clock errors make an interval look shorter than it was.
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

    pub(super) fn admit(&mut self, at: u64, cost: u64) -> TimeInterval {
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
        let interval = TimeInterval {
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

    /// Returns the units allowed from `from` to `last`, if the last admission had this cost.
    fn allowed(&self, cost: u64) -> u64 {
        let length = u128::from(self.last - self.from) + u128::from(self.slack);
        let refilled = length * u128::from(self.amount) / u128::from(self.period);
        let refilled = u64::try_from(refilled).unwrap_or(u64::MAX);
        let at_once = self.burst.saturating_add(if self.releases { cost } else { 0 });
        refilled.saturating_add(at_once)
    }

    pub(super) fn refund(&mut self, units: u64) {
        let units = units.min(self.admitted);
        self.admitted -= units;
        self.level = self.level.saturating_sub(u128::from(units) * u128::from(self.period));
    }

    /// Includes the release times that a queue had promised: it promises them anew.
    pub(super) fn reset(&mut self) {
        (self.level, self.admitted, self.last) = (0, 0, 0);
    }

    /// Allows three bursts for one outage, and two more for each further one not charged back.
    ///
    /// The store's before, the nodes' meanwhile (one each at least), and the store's after, which
    /// has refilled in the meantime.
    pub(super) fn loosen(&mut self, outages: u64, nodes: u64) {
        let more = self.budget.saturating_add(self.budget.max(nodes)).saturating_mul(outages);
        self.burst = self.budget.saturating_add(more);
    }

    pub(super) const fn budget(&self) -> u64 {
        self.budget
    }
}
