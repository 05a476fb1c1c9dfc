//! The behaviour shared by all algorithms, expressed by "would this fit?".

use super::cell::{Cell, Filed, View, When};
use super::meter::Meter;
use super::receipt::{Receipt, ReceiptId};
use super::search::{largest_fit, smallest_wait};
use crate::ratio::Ratio;
use crate::trace::Reason;

/// The most that valid state is ahead of the clock, in microseconds.
pub(crate) const SLACK: u64 = 1_000_000;

/// The shortest time in which a receipt can be settled, in microseconds.
pub(crate) const SETTLED_WITHIN: u64 = 600_000_000;

/// A take: minimum and maximum units, and patience.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take {
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) patience: Option<u64>,
}

/// The answer to a take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Allowed { granted: u64, delay: u64 },
    Refused { reason: Reason, retry_after: Option<u64> },
}

/// An algorithm with its parameters.
pub(crate) trait Rule {
    /// Returns the most units that a fresh cell grants at once.
    fn capacity(&self) -> u64;

    /// Returns the limit of unconditional charges.
    fn charge_cap(&self) -> u64;

    /// Repairs state that only a wrong clock explains.
    fn correct_clock(&self, cell: &mut Cell, when: When);

    /// Returns whether `units` more would leave the cell filled with no more than `cap`.
    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool;

    /// Charges `units` (at least 1) to the cell.
    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed;

    /// Refunds up to `units` of a receipt that still matters; returns the units refunded.
    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64;

    /// Refunds up to `units` of the current usage, newest first; returns the whole units refunded.
    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64;

    /// Returns the visible properties of the cell.
    fn view(&self, cell: &Cell, when: When) -> View;

    /// Returns the used units, fractions included.
    fn used(&self, cell: &Cell, when: When) -> Ratio {
        Ratio::whole(self.capacity() - self.view(cell, when).remaining)
    }

    /// Returns the limit of a charge that another counter admitted before.
    fn late_charge_cap(&self) -> Ratio {
        Ratio::whole(self.charge_cap())
    }

    /// Returns the meter, if this is one.
    fn meter(&self) -> Option<&Meter> {
        None
    }

    /// Returns whether takes are charged at all.
    fn charges_takes(&self) -> bool {
        true
    }

    /// Returns whether not even a fresh cell would admit `least` on top of `already`.
    fn is_hopeless(&self, already: u64, take: &Take) -> bool {
        already.saturating_add(take.least) > self.capacity()
    }

    /// Returns whether `least` on top of `already` is admitted at that time.
    fn admits(&self, cell: &Cell, when: When, already: u64, take: &Take) -> bool {
        self.fits(cell, when, already + take.least, self.capacity())
    }

    /// Returns the delay of an admitted take.
    fn delay(&self, _cell: &Cell, _when: When, _already: u64, _take: &Take) -> u64 {
        0
    }

    /// Returns the smallest wait after which the take would be admitted.
    fn retry_after(&self, cell: &Cell, when: When, already: u64, take: &Take) -> Option<u64> {
        Some(smallest_wait(|wait| self.admits(cell, when.later(wait), already, take)))
    }

    /// Returns the reason of a refusal that is not permanent.
    fn refusal(&self) -> Reason {
        Reason::Exhausted
    }

    /// Decides a take, with `already` units granted to earlier takes of the same set.
    fn take(&self, cell: &Cell, when: When, already: u64, take: &Take) -> Verdict {
        let capacity = self.capacity();
        if self.is_hopeless(already, take) {
            return Verdict::Refused { reason: Reason::CostAboveLimit, retry_after: None };
        }
        if !self.admits(cell, when, already, take) {
            let retry_after = self.retry_after(cell, when, already, take);
            return Verdict::Refused { reason: self.refusal(), retry_after };
        }
        let most = take.most.min(capacity);
        let up_to = largest_fit(most, |units| self.fits(cell, when, already + units, capacity));
        // Less than `least` fits now only if the take was admitted with a delay.
        let granted = up_to.max(take.least);
        Verdict::Allowed { granted, delay: self.delay(cell, when, already, take) }
    }

    /// Charges as many of `units` as the cap leaves room for; returns how many.
    fn charge(
        &self,
        cell: &mut Cell,
        when: When,
        units: u64,
        already: u64,
        id: ReceiptId,
    ) -> (u64, Option<Filed>) {
        let cap = self.charge_cap();
        let fits = |units| units == 0 || self.fits(cell, when, already + units, cap);
        let charged = largest_fit(units.min(cap), fits);
        let filed = (charged > 0).then(|| self.file(cell, when, charged, id));
        (charged, filed)
    }

    /// Settles a receipt; returns the units charged for it now.
    fn settle(
        &self,
        cell: &mut Cell,
        when: When,
        receipt: &Receipt,
        actual: u64,
        already: u64,
    ) -> Result<u64, Reason> {
        let over = receipt.filed.until.has_passed(when.now);
        let lapsed = over && when.now >= receipt.filed.at + SETTLED_WITHIN;
        if lapsed {
            return Err(Reason::Lost);
        }
        if receipt.settled {
            return Err(Reason::Spent);
        }
        if actual > receipt.units {
            let (more, _) =
                self.charge(cell, when, actual - receipt.units, already, receipt.filed.id);
            return Ok(receipt.units + more);
        }
        if over || actual == receipt.units {
            return Ok(receipt.units);
        }
        Ok(receipt.units - self.give_back(cell, when, receipt, receipt.units - actual))
    }

    /// Extends a hold by a lease; returns its units.
    fn renew(&self, _cell: &mut Cell, _when: When, receipt: &Receipt) -> Result<u64, Reason> {
        panic!("only holds can be renewed, not what was filed under {:?}", receipt.cell);
    }
}
