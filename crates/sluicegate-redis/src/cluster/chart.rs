//! Which link serves which slot.

use std::sync::atomic::{AtomicU32, Ordering};

use super::slot::SLOTS;

const NOBODY: u32 = u32::MAX;

/// Which link serves which slot, as far as is known; changed slot by slot, under load.
#[derive(Debug)]
pub(crate) struct Chart {
    owners: Box<[AtomicU32]>,
}

impl Chart {
    /// Of which nothing is known.
    pub(crate) fn new() -> Self {
        Self { owners: (0..SLOTS).map(|_| AtomicU32::new(NOBODY)).collect() }
    }

    /// The number of the link that serves a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<u32> {
        let owner = self.owners.get(usize::from(slot))?.load(Ordering::Relaxed);
        (owner != NOBODY).then_some(owner)
    }

    pub(super) fn set(&self, slot: u16, owner: Option<u32>) {
        if let Some(place) = self.owners.get(usize::from(slot)) {
            place.store(owner.unwrap_or(NOBODY), Ordering::Relaxed);
        }
    }

    /// How many slots a link serves.
    pub(super) fn count(&self, owner: Option<u32>) -> usize {
        let owner = owner.unwrap_or(NOBODY);
        self.owners.iter().filter(|place| place.load(Ordering::Relaxed) == owner).count()
    }

    /// The link that serves the lowest slot of all.
    pub(super) fn first(&self) -> Option<u32> {
        (0..SLOTS).find_map(|slot| self.owner(slot))
    }
}
