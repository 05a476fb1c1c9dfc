//! The slot map of a cluster.

use std::sync::atomic::{AtomicU32, Ordering};

use super::slot::SLOTS;

const UNSERVED: u32 = u32::MAX;

/// The server of each slot, as far as it is known; updated slot by slot, under load.
#[derive(Debug)]
pub(crate) struct SlotMap {
    owners: Box<[AtomicU32]>,
}

impl SlotMap {
    /// A map without known slots.
    pub(crate) fn new() -> Self {
        Self { owners: (0..SLOTS).map(|_| AtomicU32::new(UNSERVED)).collect() }
    }

    /// Returns the number of the server of a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<u32> {
        let owner = self.owners[usize::from(slot)].load(Ordering::Relaxed);
        (owner != UNSERVED).then_some(owner)
    }

    pub(super) fn set(&self, slot: u16, owner: Option<u32>) {
        self.owners[usize::from(slot)].store(owner.unwrap_or(UNSERVED), Ordering::Relaxed);
    }

    /// Counts the slots of a server, or the unserved slots (`None`).
    pub(super) fn count(&self, owner: Option<u32>) -> usize {
        let owner = owner.unwrap_or(UNSERVED);
        self.owners.iter().filter(|place| place.load(Ordering::Relaxed) == owner).count()
    }

    /// Returns the server of the lowest slot.
    pub(super) fn first(&self) -> Option<u32> {
        (0..SLOTS).find_map(|slot| self.owner(slot))
    }
}
