//! The sliding log: every charge, with its time.

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId, Until};
use super::rule::{Rule, SLACK};

/// Units charged at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    time: u64,
    units: u64,
}

/// `amount` in any `period`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlidingLog {
    pub(crate) amount: u64,
    pub(crate) period: u64,
    pub(crate) debt: bool,
}

impl SlidingLog {
    fn is_live(&self, stamp: &Stamp, now: u64) -> bool {
        stamp.time + self.period > now
    }

    fn used(&self, cell: &Cell, now: u64) -> u64 {
        cell.stamps.iter().filter(|s| self.is_live(s, now)).map(|s| s.units).sum()
    }
}

impl Rule for SlidingLog {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn charge_cap(&self) -> u64 {
        if self.debt { self.amount * 2 } else { self.amount }
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        if cell.stamps.iter().any(|stamp| stamp.time > when.now + SLACK) {
            cell.stamps = vec![Stamp { time: when.now, units: self.amount }];
        }
    }

    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool {
        self.used(cell, when.now) + units <= cap
    }

    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed {
        let newest = cell.stamps.iter().map(|stamp| stamp.time).max();
        let time = newest.map_or(when.now, |newest| newest.max(when.now));
        cell.stamps.retain(|stamp| self.is_live(stamp, when.now));
        cell.stamps.push(Stamp { time, units });
        Filed { id, at: time, until: Until::whole(time + self.period) }
    }

    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64 {
        let mut given = 0;
        for stamp in &mut cell.stamps {
            if stamp.time == receipt.filed.at && self.is_live(stamp, when.now) {
                let part = stamp.units.min(units - given);
                stamp.units -= part;
                given += part;
            }
        }
        cell.stamps.retain(|stamp| stamp.units > 0);
        given
    }

    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64 {
        let mut given = 0;
        while given < units {
            let live = cell.stamps.iter_mut().filter(|stamp| self.is_live(stamp, when.now));
            let Some(newest) = live.max_by_key(|stamp| stamp.time) else { break };
            let part = newest.units.min(units - given);
            newest.units -= part;
            given += part;
            cell.stamps.retain(|stamp| stamp.units > 0);
        }
        given
    }

    fn view(&self, cell: &Cell, when: When) -> View {
        let live = cell.stamps.iter().filter(|stamp| self.is_live(stamp, when.now));
        let newest = live.map(|stamp| stamp.time).max();
        View {
            remaining: self.amount.saturating_sub(self.used(cell, when.now)),
            reset_after: newest.map_or(0, |time| time + self.period - when.now),
        }
    }
}
