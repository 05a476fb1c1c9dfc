//! The bucket and the queue: a level in units that leaks continuously.

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId, Until};
use super::rule::{Rule, SLACK, Take};
use super::search::smallest_wait;
use crate::ratio::{Ratio, gcd};
use crate::trace::{BucketSpec, QuotaSpec};

/// The rate of a leak: `units` per `micros`, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    units: i128,
    micros: i128,
}

impl Rate {
    /// Returns the units that leak in this many microseconds.
    fn units_in(self, micros: Ratio) -> Ratio {
        micros * Ratio::new(self.units, self.micros)
    }

    /// Returns the microseconds in which this many units leak.
    fn time_of(self, units: Ratio) -> Ratio {
        units * Ratio::new(self.micros, self.units)
    }
}

/// The units in the bucket at the time of the last write, and their rate then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    units: Ratio,
    at: u64,
    rate: Rate,
}

impl Level {
    /// The exact time at which the bucket is empty.
    fn empty_at(&self) -> Ratio {
        Ratio::whole(self.at) + self.rate.time_of(self.units)
    }
}

/// A bucket of either kind; the queue is one with delays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    capacity: u64,
    debt: bool,
    rate: Rate,
    queues: bool,
}

impl Meter {
    /// A token bucket or leaky bucket.
    pub(crate) fn bucket(spec: &BucketSpec) -> Meter {
        let common = gcd(u128::from(spec.amount), u128::from(spec.period_us)).cast_signed();
        let units = i128::from(spec.amount) / common;
        let micros = i128::from(spec.period_us) / common;
        let rate = Rate { units, micros };
        Meter { capacity: spec.burst, debt: spec.debt, rate, queues: false }
    }

    /// A queue, in which the request being served takes an extra place.
    pub(crate) fn queue(spec: &BucketSpec) -> Meter {
        let bucket = Meter::bucket(spec);
        Meter { capacity: spec.burst + 1, queues: true, ..bucket }
    }

    /// Returns the units in the bucket now.
    fn level(&self, cell: &Cell, now: u64) -> Ratio {
        let Some(level) = &cell.level else { return Ratio::ZERO };
        if level.rate == self.rate {
            let passed = Ratio::whole(i128::from(now) - i128::from(level.at));
            return (level.units - self.rate.units_in(passed)).max(Ratio::ZERO);
        }
        // Written by another quota: the time at which the bucket is empty is kept.
        let mut empty = level.empty_at();
        if level.rate.units != self.rate.units {
            empty = empty.round_up_to_parts(self.rate.units);
        }
        self.rate.units_in(empty - Ratio::whole(now)).max(Ratio::ZERO)
    }

    /// Returns the meter under another quota; `None` if that is impossible.
    pub(crate) fn under(&self, quota: &QuotaSpec) -> Option<Meter> {
        let QuotaSpec { amount, period_us, burst } = *quota;
        let least = u64::from(!self.queues);
        let spec = BucketSpec { amount, period_us, burst, debt: true };
        let make = if self.queues { Meter::queue } else { Meter::bucket };
        (period_us > 0 && burst >= least).then(|| make(&spec))
    }

    /// Converts the units of another meter in the cell.
    pub(crate) fn pour_over(&self, from: &Meter, cell: &mut Cell, when: When) {
        from.correct_clock(cell, when);
        let poured = from.level(cell, when.now).min(Ratio::whole(from.charge_cap()));
        let units = poured.ceil_u64().min(self.capacity);
        self.write(cell, when.now, Ratio::whole(units));
    }

    /// Returns the longest time in which everything leaks, including clock slack.
    pub(crate) fn longest(&self) -> u64 {
        self.rate.time_of(Ratio::whole(self.charge_cap())).ceil_u64() + SLACK
    }

    /// Writes the units in the bucket.
    fn write(&self, cell: &mut Cell, now: u64, units: Ratio) {
        let level = Level { units, at: now, rate: self.rate };
        cell.level = units.is_positive().then_some(level);
    }

    /// Returns the useful part of the patience: delays are limited to one bucket.
    fn useful_patience(&self, take: &Take) -> u64 {
        let full = self.rate.time_of(Ratio::whole(self.capacity)).floor_u64();
        if self.debt { take.patience.unwrap_or(0).min(full) } else { 0 }
    }

    /// Returns the delay of a request that joins the queue now.
    fn turn(&self, cell: &Cell, now: u64, already: u64) -> u64 {
        let ahead = self.level(cell, now) + Ratio::whole(already);
        self.rate.time_of(ahead).ceil_u64()
    }
}

impl Rule for Meter {
    fn meter(&self) -> Option<&Meter> {
        Some(self)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn charge_cap(&self) -> u64 {
        if self.debt { self.capacity * 2 } else { self.capacity }
    }

    fn used(&self, cell: &Cell, when: When) -> Ratio {
        self.level(cell, when.now)
    }

    fn late_charge_cap(&self) -> Ratio {
        let slack = Ratio::whole(self.capacity) + self.rate.units_in(Ratio::whole(SLACK));
        slack.max(Ratio::whole(self.charge_cap()))
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        let believable = Ratio::whole(self.charge_cap()) + self.rate.units_in(Ratio::whole(SLACK));
        if self.level(cell, when.now) > believable {
            self.write(cell, when.now, Ratio::whole(self.capacity));
        }
    }

    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool {
        self.level(cell, when.now) + Ratio::whole(units) <= Ratio::whole(cap)
    }

    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed {
        let level = self.level(cell, when.now) + Ratio::whole(units);
        self.write(cell, when.now, level);
        // A queue's receipt contains the end of the queue; a bucket's the time the charge alone
        // takes to leak out, however much was in the bucket: units that may have leaked are not
        // refunded.
        let filed = if self.queues { level } else { Ratio::whole(units) };
        let moment = Ratio::whole(when.now) + self.rate.time_of(filed);
        Filed { id, at: when.now, until: Until { moment, parts: self.rate.units } }
    }

    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64 {
        let level = self.level(cell, when.now);
        if !level.is_positive() {
            return 0;
        }
        // A time of another quota is read like a level of another quota: rounded up.
        let mut until = receipt.filed.until.moment;
        if receipt.filed.until.parts != self.rate.units {
            until = until.round_up_to_parts(self.rate.units);
        }
        let left = self.rate.units_in(until - Ratio::whole(when.now));
        let line_ends = cell.level.map(|level| level.empty_at());
        if self.queues && line_ends != Some(receipt.filed.until.moment) {
            // Another request is queued after it: its place is used up.
            return 0;
        }
        let worth = left.min(Ratio::whole(units));
        if !worth.is_positive() {
            return 0;
        }
        self.write(cell, when.now, level - worth);
        worth.floor_u64()
    }

    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64 {
        let level = self.level(cell, when.now);
        let gone = level.min(Ratio::whole(units));
        if gone.is_positive() {
            self.write(cell, when.now, level - gone);
        }
        gone.floor_u64()
    }

    fn view(&self, cell: &Cell, when: When) -> View {
        let level = self.level(cell, when.now);
        View {
            remaining: (Ratio::whole(self.capacity) - level).floor_u64(),
            reset_after: self.rate.time_of(level).ceil_u64(),
        }
    }

    fn is_hopeless(&self, already: u64, take: &Take) -> bool {
        // A request after others of the same set waits for them even in an empty queue.
        let turn = self.rate.time_of(Ratio::whole(already)).ceil_u64();
        let too_late = self.queues && take.patience.is_some_and(|patience| turn > patience);
        too_late || already.saturating_add(take.least) > self.capacity
    }

    fn admits(&self, cell: &Cell, when: When, already: u64, take: &Take) -> bool {
        let units = already + take.least;
        if self.queues {
            let in_time = take.patience.is_none_or(|p| self.turn(cell, when.now, already) <= p);
            return in_time && self.fits(cell, when, units, self.capacity);
        }
        // A take whose patience covers the wait is admitted immediately.
        let patient = when.later(self.useful_patience(take));
        self.fits(cell, patient, units, self.capacity)
    }

    fn delay(&self, cell: &Cell, when: When, already: u64, take: &Take) -> u64 {
        if self.queues {
            return self.turn(cell, when.now, already);
        }
        let units = already + take.least;
        if self.fits(cell, when, units, self.capacity) {
            return 0;
        }
        smallest_wait(|wait| self.fits(cell, when.later(wait), units, self.capacity))
    }
}
