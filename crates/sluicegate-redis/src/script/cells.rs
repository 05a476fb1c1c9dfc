//! The counters that the checks of a set use, each once.

use sluicegate_core::{CellRef, ChargeId, Check, Set};
use smallvec::SmallVec;

/// The cells of a set, in the order in which its checks use them.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    pub(crate) list: SmallVec<[StoredCell<'a>; 2]>,
    pub(crate) places: SmallVec<[CellRef; 2]>,
}

/// The stored state of a counter, or of an operation that is done once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredCell<'a> {
    /// The counter of this check.
    Counter(&'a Check<'a>),
    /// The idempotency record of this check, shared by all checks with the same id.
    Remembered(ChargeId, &'a Check<'a>),
}

impl<'a> Cells<'a> {
    pub(crate) fn of(set: &Set<'a>) -> Self {
        let mut cells = Self { list: SmallVec::new(), places: SmallVec::new() };
        for check in set.checks() {
            let mut place = CellRef::cell(cells.slot(StoredCell::Counter(check)));
            if let Some(id) = check.settles() {
                place = place.remembered_in(cells.slot(StoredCell::Remembered(id, check)));
            }
            cells.places.push(place);
        }
        cells
    }

    fn slot(&mut self, cell: StoredCell<'a>) -> usize {
        let known = self.list.iter().position(|other| other.is_same(&cell));
        known.unwrap_or_else(|| {
            self.list.push(cell);
            self.list.len() - 1
        })
    }
}

impl<'a> StoredCell<'a> {
    pub(crate) fn check(&self) -> &'a Check<'a> {
        match self {
            Self::Counter(check) | Self::Remembered(_, check) => check,
        }
    }

    pub(crate) fn is_same(&self, other: &StoredCell<'_>) -> bool {
        match (self, other) {
            (Self::Counter(check), StoredCell::Counter(other)) => is_same_counter(check, other),
            (Self::Remembered(id, _), StoredCell::Remembered(other, _)) => id == other,
            _ => false,
        }
    }
}

fn is_same_counter(check: &Check<'_>, other: &Check<'_>) -> bool {
    check.limit().name() == other.limit().name() && check.key() == other.key()
}

/// Whether a counter is used under two limits, which could not both be right about it.
pub(crate) fn is_contradictory(set: &Set<'_>) -> bool {
    let checks = set.checks();
    checks.iter().enumerate().any(|(index, check)| {
        let mut earlier = checks.iter().take(index);
        earlier.any(|other| is_same_counter(check, other) && check.limit() != other.limit())
    })
}
