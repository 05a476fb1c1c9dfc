//! Slots that are held, by name and by when their lease runs out.

use std::collections::{BTreeSet, HashMap};

/// Slots that are held.
#[derive(Debug, Default)]
pub(super) struct Holds {
    by_name: HashMap<String, Hold>,
    by_expiry: BTreeSet<(u64, String)>,
    by_store: u64,
    all: u64,
}

/// Slots of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub(super) units: u64,
    pub(super) expires: u64,
    pub(super) by_store: bool,
}

impl Holds {
    /// Units in flight that the store granted.
    pub(super) const fn by_store(&self) -> u64 {
        self.by_store
    }

    /// Units in flight, whoever granted them.
    pub(super) const fn all(&self) -> u64 {
        self.all
    }

    pub(super) fn insert(&mut self, name: String, hold: Hold) {
        self.let_go(&name);
        self.all += hold.units;
        if hold.by_store {
            self.by_store += hold.units;
        }
        self.by_expiry.insert((hold.expires, name.clone()));
        self.by_name.insert(name, hold);
    }

    /// Gives back what is held under this name, if that is anything.
    pub(super) fn let_go(&mut self, name: &str) -> Option<Hold> {
        let hold = self.by_name.remove(name)?;
        self.by_expiry.remove(&(hold.expires, name.to_owned()));
        self.all -= hold.units;
        if hold.by_store {
            self.by_store -= hold.units;
        }
        Some(hold)
    }

    /// Gives back what ran out by `at`.
    pub(super) fn expire(&mut self, at: u64) {
        while let Some((expires, name)) = self.by_expiry.first()
            && *expires <= at
        {
            let name = name.clone();
            self.let_go(&name);
        }
    }
}
