//! All contenders, ready to be compared.

use crate::contender::{Budget, Contender, Governor, NAMES, Ours};
use crate::fingerprint::{Folded, Keyed};
use crate::floor::Floor;

/// The contenders, in the order of [`NAMES`].
pub(crate) struct Field<'k> {
    pub(crate) ours: Ours,
    pub(crate) floor: Floor<Keyed>,
    fast_floor: Floor<Folded>,
    governor: Governor<&'k str>,
}

impl<'k> Field<'k> {
    /// Each has checked each of the keys once.
    pub(crate) fn with_keys(keys: &[&'k str], budget: Budget) -> Self {
        let field = Self {
            ours: Ours::new(budget),
            floor: Floor::new(Keyed::new(), keys.len(), budget),
            fast_floor: Floor::new(Folded, keys.len(), budget),
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
