//! What a chosen take or a charge leaves behind, so that it can be settled later.

use super::cell::{CellName, Filed};
use crate::ratio::Ratio;

/// A receipt is named by the index of its step and of its check in that step.
pub(crate) type ReceiptId = (usize, usize);

/// The moment from which a receipt no longer matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// The exact moment.
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

/// Units filed under a cell.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    /// The cell they were charged to.
    pub(crate) cell: CellName,
    /// How many.
    pub(crate) units: u64,
    /// When and until when.
    pub(crate) filed: Filed,
    /// Whether it was settled before.
    pub(crate) settled: bool,
}
