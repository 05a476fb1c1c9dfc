//! Changes of tier: most of them from a quota that the counter has really had.

use std::collections::{BTreeMap, VecDeque};

use super::quotas;
use crate::trace::{AskSpec, LimitSpec};
use sluicegate_testkit::Rng;

/// The number of changes that may be repeated.
const TOLD: usize = 12;

/// The name of a counter: its limit's, and the key.
type CellName = (String, String);

/// The changes of a walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// The last ones, which may be repeated, each for its own counter.
    told: VecDeque<(CellName, AskSpec)>,
    /// The number of changes.
    made: u64,
}

impl Changes {
    /// Returns a change of this key to this limit, from the other of its name or from any quota.
    ///
    /// If this counter had changes before, half of the time one of those.
    pub(super) fn next(
        &mut self,
        rng: &mut Rng,
        limits: &BTreeMap<String, LimitSpec>,
        (handle, key): (&str, &str),
    ) -> AskSpec {
        let name = &limits[handle].name;
        let cell = (name.clone(), key.to_owned());
        let known: Vec<AskSpec> =
            self.told.iter().filter(|(of, _)| *of == cell).map(|(_, ask)| *ask).collect();
        if !known.is_empty() && rng.one_in(2) {
            return *rng.pick(&known);
        }
        let mut namesakes =
            limits.iter().filter(|(other, limit)| *other != handle && limit.name == *name);
        let from = match namesakes.next().and_then(|(_, other)| other.algorithm.quota()) {
            Some(quota) if !rng.one_in(4) => quota,
            _ => quotas::quota(rng),
        };
        self.made += 1;
        let ask = AskSpec::Rescale { from, id: self.made };
        self.told.push_back((cell, ask));
        if self.told.len() > TOLD {
            self.told.pop_front();
        }
        ask
    }

    /// Clears the changes that may be repeated.
    pub(super) fn forget(&mut self) {
        self.told.clear();
    }
}
