//! Changes of tier: most of them from a quota that the counter has really had.

use std::collections::{BTreeMap, VecDeque};

use super::dice::Dice;
use super::quotas;
use crate::trace::{AskSpec, LimitSpec};

/// How many changes may be told again.
const TOLD: usize = 4;

/// The changes of a walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// The last ones, which may be told again.
    told: VecDeque<AskSpec>,
    /// How many there were.
    made: u64,
}

impl Changes {
    /// A change to this limit, from the other of its name or from anything; half of them have been
    /// told before, of this counter or another.
    pub(super) fn next(
        &mut self,
        dice: &mut Dice,
        limits: &BTreeMap<String, LimitSpec>,
        handle: &str,
    ) -> AskSpec {
        if !self.told.is_empty() && dice.one_in(2) {
            let index = dice.below(self.told.len() as u64);
            return self.told[usize::try_from(index).unwrap_or(0)];
        }
        let name = &limits[handle].name;
        let mut namesakes =
            limits.iter().filter(|(other, limit)| *other != handle && limit.name == *name);
        let from = match namesakes.next().and_then(|(_, other)| other.algorithm.quota()) {
            Some(quota) if !dice.one_in(4) => quota,
            _ => quotas::quota(dice),
        };
        self.made += 1;
        let ask = AskSpec::Rescale { from, id: self.made };
        self.told.push_back(ask);
        if self.told.len() > TOLD {
            self.told.pop_front();
        }
        ask
    }

    /// Tells none of them again.
    pub(super) fn forget(&mut self) {
        self.told.clear();
    }
}
