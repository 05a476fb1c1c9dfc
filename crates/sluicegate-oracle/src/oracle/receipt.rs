//! The receipt of a take or a charge, for a later settlement.

use super::cell::{CellName, Filed};
use crate::ratio::Ratio;

/// The id of a receipt: the index of its step and of its check in that step.
pub(crate) type ReceiptId = (usize, usize);

/// The time from which a receipt no longer matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// The exact time.
    pub(crate) moment: Ratio,
    /// It is a multiple of one `parts`-th of a microsecond.
    pub(crate) parts: i128,
}

impl Until {
    /// A whole number of microseconds.
    pub(crate) fn whole(moment: u64) -> Until {
        Until { moment: Ratio::whole(moment), parts: 1 }
    }

    /// Whether it has passed: whole microseconds, rounded up.
    pub(crate) fn has_passed(self, now: u64) -> bool {
        i128::from(now) >= self.moment.ceil()
    }
}

/// Units charged to a cell.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    /// The cell of the charge.
    pub(crate) cell: CellName,
    /// The number of units.
    pub(crate) units: u64,
    /// The time of the charge, and its end.
    pub(crate) filed: Filed,
    /// Whether it is already settled.
    pub(crate) settled: bool,
}
