//! All contenders, ready to be compared.

use crate::contender::{Budget, Contender, Governor, NAMES, Sluicegate};
use crate::fingerprint::{FoldedHash, KeyedHash};
use crate::floor::Floor;

/// The contenders, in the order of [`NAMES`].
pub(crate) struct Field<'k> {
    pub(crate) ours: Sluicegate,
    pub(crate) floor: Floor<KeyedHash>,
    fast_floor: Floor<FoldedHash>,
    governor: Governor<&'k str>,
}

impl<'k> Field<'k> {
    /// Each has checked each of the keys once.
    pub(crate) fn with_keys(keys: &[&'k str], budget: Budget) -> Self {
        let field = Self {
            ours: Sluicegate::new(budget),
            floor: Floor::new(KeyedHash::new(), keys.len(), budget),
            fast_floor: Floor::new(FoldedHash, keys.len(), budget),
            governor: Governor::new(budget),
        };
        for contender in field.all() {
            assert_eq!(contender.check_all(keys), keys.len(), "a fresh key was refused");
        }
        field
    }

    pub(crate) fn all(&self) -> [&dyn Contender<'k>; NAMES.len()] {
        [&self.ours, &self.floor, &self.fast_floor, &self.governor]
    }
}
