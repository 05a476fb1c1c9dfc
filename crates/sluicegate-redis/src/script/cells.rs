//! The counters that the checks of a set use, each once.

use sluicegate::CellMap;
use sluicegate_core::{ChargeId, Check, Set};

/// The stored state of a counter, or of an operation that is done once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredCell<'a> {
    /// The counter of this check.
    Counter(&'a Check<'a>),
    /// The idempotency record of this check, shared by all checks with the same id.
    Remembered(ChargeId, &'a Check<'a>),
}

/// Returns the cells of a set, in the order in which its checks use them.
pub(crate) fn cells_of<'a>(set: &Set<'a>) -> CellMap<StoredCell<'a>> {
    CellMap::of(set, StoredCell::Counter, StoredCell::Remembered)
}

impl<'a> StoredCell<'a> {
    pub(crate) fn check(&self) -> &'a Check<'a> {
        match self {
            Self::Counter(check) | Self::Remembered(_, check) => check,
        }
    }
}

impl PartialEq<StoredCell<'_>> for StoredCell<'_> {
    fn eq(&self, other: &StoredCell<'_>) -> bool {
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
