//! Concurrency: the holders, their slots, and the ends of their leases.

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId, Until};
use super::rule::{Rule, SLACK, Take};
use crate::trace::Reason;

/// A holder of slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    id: ReceiptId,
    expires: u64,
    units: u64,
}

/// `slots` at once, each hold for `lease` unless renewed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Concurrency {
    pub(crate) slots: u64,
    pub(crate) lease: u64,
}

impl Concurrency {
    fn used(cell: &Cell, now: u64) -> u64 {
        cell.holders.iter().filter(|h| h.expires > now).map(|h| h.units).sum()
    }

    fn drop_expired(cell: &mut Cell, now: u64) {
        cell.holders.retain(|holder| holder.expires > now);
    }

    /// Returns the index of the receipt's live holder.
    fn find(cell: &Cell, now: u64, receipt: &Receipt) -> Result<usize, Reason> {
        cell.holders
            .iter()
            .position(|holder| holder.id == receipt.filed.id && holder.expires > now)
            .ok_or(Reason::Lost)
    }
}

impl Rule for Concurrency {
    fn capacity(&self) -> u64 {
        self.slots
    }

    fn charge_cap(&self) -> u64 {
        self.slots * 2
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        let longest = when.now + self.lease;
        if cell.holders.iter().any(|holder| holder.expires > longest + SLACK) {
            for holder in &mut cell.holders {
                holder.expires = holder.expires.min(longest);
            }
        }
    }

    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool {
        Concurrency::used(cell, when.now) + units <= cap
    }

    fn retry_after(&self, _cell: &Cell, _when: When, _already: u64, _take: &Take) -> Option<u64> {
        // The time of a release cannot be predicted.
        None
    }

    fn refusal(&self) -> Reason {
        Reason::Busy
    }

    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed {
        Concurrency::drop_expired(cell, when.now);
        let expires = when.now + self.lease;
        cell.holders.push(Holder { id, expires, units });
        Filed { id, at: when.now, until: Until::whole(expires) }
    }

    fn give_back(&self, _cell: &mut Cell, _when: When, receipt: &Receipt, _units: u64) -> u64 {
        panic!("a hold is settled as a whole: {:?}", receipt.filed.id);
    }

    fn refund(&self, _cell: &mut Cell, _when: When, _units: u64) -> u64 {
        // Only the holder can release a slot.
        0
    }

    fn view(&self, cell: &Cell, when: When) -> View {
        let latest = cell.holders.iter().map(|holder| holder.expires).max().unwrap_or(0);
        View {
            remaining: self.slots.saturating_sub(Concurrency::used(cell, when.now)),
            reset_after: latest.saturating_sub(when.now),
        }
    }

    fn settle(
        &self,
        cell: &mut Cell,
        when: When,
        receipt: &Receipt,
        actual: u64,
        already: u64,
    ) -> Result<u64, Reason> {
        let place = Concurrency::find(cell, when.now, receipt)?;
        let held = cell.holders[place].units;
        let taken = Concurrency::used(cell, when.now) + already;
        let room = self.charge_cap().saturating_sub(taken);
        let standing = if actual > held { actual.min(held + room) } else { actual };
        cell.holders[place].units = standing;
        cell.holders.retain(|holder| holder.units > 0);
        Concurrency::drop_expired(cell, when.now);
        Ok(standing)
    }

    fn renew(&self, cell: &mut Cell, when: When, receipt: &Receipt) -> Result<u64, Reason> {
        let place = Concurrency::find(cell, when.now, receipt)?;
        cell.holders[place].expires = when.now + self.lease;
        let units = cell.holders[place].units;
        Concurrency::drop_expired(cell, when.now);
        Ok(units)
    }
}
