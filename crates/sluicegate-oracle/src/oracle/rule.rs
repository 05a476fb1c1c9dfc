//! What every algorithm has in common, said once in terms of "would this fit?".

use super::cell::{Cell, Filed, View, When};
use super::meter::Meter;
use super::receipt::{Receipt, ReceiptId};
use super::search::{largest_fit, smallest_wait};
use crate::trace::Reason;

/// How far state may be ahead of the clock before it is not believed, in microseconds.
pub(crate) const SLACK: u64 = 1_000_000;

/// How long a receipt can be settled at least, in microseconds.
pub(crate) const SETTLED_WITHIN: u64 = 600_000_000;

/// A take: at least and at most so many units, with so much patience.
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

/// An algorithm with its numbers.
pub(crate) trait Rule {
    /// The most units a fresh cell grants at once.
    fn capacity(&self) -> u64;

    /// The most that charges may fill the cell with.
    fn charge_cap(&self) -> u64;

    /// Rewrites state that only a wrong clock explains.
    fn correct_clock(&self, cell: &mut Cell, when: When);

    /// Whether `units` more would leave the cell filled with no more than `cap`.
    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool;

    /// Files `units` (at least 1) in the cell.
    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed;

    /// Takes up to `units` of a receipt that still matters out of the cell; says how many that were.
    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64;

    /// Takes up to `units` of what counts now out of the cell, what was filed last first; says how
    /// many whole ones that were.
    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64;

    /// How the cell looks.
    fn view(&self, cell: &Cell, when: When) -> View;

    /// The meter, if this is one.
    fn meter(&self) -> Option<&Meter> {
        None
    }

    /// Whether takes are charged at all.
    fn charges_takes(&self) -> bool {
        true
    }

    /// Whether not even a fresh cell would admit `least` on top of `already`.
    fn is_hopeless(&self, already: u64, take: &Take) -> bool {
        already.saturating_add(take.least) > self.capacity()
    }

    /// Whether `least` on top of `already` is admitted at that time.
    fn admits(&self, cell: &Cell, when: When, already: u64, take: &Take) -> bool {
        self.fits(cell, when, already + take.least, self.capacity())
    }

    /// How long an admitted take has to wait.
    fn delay(&self, _cell: &Cell, _when: When, _already: u64, _take: &Take) -> u64 {
        0
    }

    /// The smallest wait after which the take would be admitted.
    fn retry_after(&self, cell: &Cell, when: When, already: u64, take: &Take) -> Option<u64> {
        Some(smallest_wait(|wait| self.admits(cell, when.later(wait), already, take)))
    }

    /// The reason for a refusal that is not for ever.
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
        // Less than `least` fits right now only when the take was admitted for its patience.
        let granted = up_to.max(take.least);
        Verdict::Allowed { granted, delay: self.delay(cell, when, already, take) }
    }

    /// Charges as many of `units` as the cap leaves room for; says how many that were.
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

    /// Settles a receipt; says how many units stand for it now.
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

    /// Lets a hold last a lease longer; says how many units it holds.
    fn renew(&self, _cell: &mut Cell, _when: When, receipt: &Receipt) -> Result<u64, Reason> {
        panic!("only holds can be renewed, not what was filed under {:?}", receipt.cell);
    }
}
