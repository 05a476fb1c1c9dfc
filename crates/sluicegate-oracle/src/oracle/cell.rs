//! One counter, in the most literal form each algorithm has for it.

use super::concurrency::Holder;
use super::cooldown::Failures;
use super::fixed_window::Window;
use super::meter::Level;
use super::receipt::ReceiptId;
use super::sliding_log::Stamp;
use super::sliding_window::Blocks;

/// The name of a cell: the limit's name and the key.
pub(crate) type CellName = (String, String);

/// A counter; each algorithm uses one field, and the default of each field is "vacant".
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) level: Option<Level>,
    pub(crate) window: Option<Window>,
    pub(crate) blocks: Option<Blocks>,
    pub(crate) stamps: Vec<Stamp>,
    pub(crate) holders: Vec<Holder>,
    pub(crate) failures: Failures,
}

/// The time of a check, and its period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    pub(crate) now: u64,
    pub(crate) period: Option<(u64, u64)>,
}

impl When {
    /// Returns the same, some microseconds later.
    pub(crate) fn later(self, wait: u64) -> When {
        When { now: self.now + wait, ..self }
    }
}

/// The visible properties of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) remaining: u64,
    pub(crate) reset_after: u64,
}

/// The time of a charge, and the time from which it no longer matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filed {
    pub(crate) id: ReceiptId,
    pub(crate) at: u64,
    pub(crate) until: super::receipt::Until,
}
