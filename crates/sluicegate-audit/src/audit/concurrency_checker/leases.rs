//! Held slots, by id and by the end of their leases.

use std::collections::{BTreeSet, HashMap};

/// The held slots.
#[derive(Debug, Default)]
pub(super) struct Leases {
    by_name: HashMap<String, Lease>,
    by_expiry: BTreeSet<(u64, String)>,
    by_store: u64,
    all: u64,
}

/// The slots of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lease {
    pub(super) units: u64,
    pub(super) expires: u64,
    pub(super) by_store: bool,
}

impl Leases {
    /// Returns the units in flight that the store granted.
    pub(super) const fn by_store(&self) -> u64 {
        self.by_store
    }

    /// Returns all units in flight, with any source.
    pub(super) const fn all(&self) -> u64 {
        self.all
    }

    pub(super) fn insert(&mut self, name: String, lease: Lease) {
        self.remove(&name);
        self.all += lease.units;
        if lease.by_store {
            self.by_store += lease.units;
        }
        self.by_expiry.insert((lease.expires, name.clone()));
        self.by_name.insert(name, lease);
    }

    /// Removes the lease of this id, if it exists.
    pub(super) fn remove(&mut self, name: &str) -> Option<Lease> {
        let lease = self.by_name.remove(name)?;
        self.by_expiry.remove(&(lease.expires, name.to_owned()));
        self.all -= lease.units;
        if lease.by_store {
            self.by_store -= lease.units;
        }
        Some(lease)
    }

    /// Removes the leases that expired by `at`.
    pub(super) fn expire(&mut self, at: u64) {
        while let Some((expires, name)) = self.by_expiry.first()
            && *expires <= at
        {
            let name = name.clone();
            self.remove(&name);
        }
    }
}
