//! Which counters the checks of a set meet, each once.

use sluicegate_core::{Check, Id, Place, Set};
use smallvec::SmallVec;

/// The cells of a set, in the order in which its checks meet them.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    pub(crate) list: SmallVec<[Cell<'a>; 2]>,
    pub(crate) places: SmallVec<[Place; 2]>,
}

/// What is kept of a counter, or of something that was done once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    /// The counter that this check asks.
    Counter(&'a Check<'a>),
    /// What this check does once, and whoever else has the same id.
    Remembered(Id, &'a Check<'a>),
}

impl<'a> Cells<'a> {
    pub(crate) fn of(set: &Set<'a>) -> Self {
        let mut cells = Self { list: SmallVec::new(), places: SmallVec::new() };
        for check in set.checks() {
            let mut place = Place::cell(cells.slot(Cell::Counter(check)));
            if let Some(id) = check.settles() {
                place = place.remembered_in(cells.slot(Cell::Remembered(id, check)));
            }
            cells.places.push(place);
        }
        cells
    }

    fn slot(&mut self, cell: Cell<'a>) -> usize {
        let known = self.list.iter().position(|other| other.is_same(&cell));
        known.unwrap_or_else(|| {
            self.list.push(cell);
            self.list.len() - 1
        })
    }
}

impl<'a> Cell<'a> {
    pub(crate) fn check(&self) -> &'a Check<'a> {
        match self {
            Self::Counter(check) | Self::Remembered(_, check) => check,
        }
    }

    pub(crate) fn is_same(&self, other: &Cell<'_>) -> bool {
        match (self, other) {
            (Self::Counter(check), Cell::Counter(other)) => is_same_counter(check, other),
            (Self::Remembered(id, _), Cell::Remembered(other, _)) => id == other,
            _ => false,
        }
    }
}

fn is_same_counter(check: &Check<'_>, other: &Check<'_>) -> bool {
    check.limit().name() == other.limit().name() && check.key() == other.key()
}

/// Whether a counter is asked under two limits, which could not both be right about it.
pub(crate) fn is_contradictory(set: &Set<'_>) -> bool {
    let checks = set.checks();
    checks.iter().enumerate().any(|(index, check)| {
        let mut earlier = checks.iter().take(index);
        earlier.any(|other| is_same_counter(check, other) && check.limit() != other.limit())
    })
}
