//! What this node admitted by itself rides in front of the next question about its counter.

use sluicegate::{Clock, Store, fresh_id};
use sluicegate_core::{Ask, Check, Cost, Limit, Set};
use smallvec::SmallVec;

use super::Redis;
use crate::owed::{Owed, Riding};
use crate::twin::{Counter, Naming, Packed};

/// Debts that ride with a set.
pub(super) struct Riders<'a> {
    /// Each with the limit that it is put to.
    checks: SmallVec<[(Check<'a>, Limit); 1]>,
    debts: SmallVec<[(Counter, Riding); 1]>,
}

impl Redis {
    /// What is owed to the counters of a set.
    pub(super) fn riders<'a>(&self, set: &Set<'a>, packed: &Packed) -> Riders<'a> {
        let mut riders = Riders { checks: SmallVec::new(), debts: SmallVec::new() };
        if self.common.owed.is_empty() {
            return riders;
        }
        let now = self.common.clock.now();
        for (index, check) in set.checks().iter().enumerate() {
            let counter = packed.counter(index);
            if riders.debts.iter().any(|(known, _)| *known == counter)
                || !self.common.owed.owes(counter)
            {
                continue;
            }
            let most = self.used_by_share(check);
            let Some(riding) = self.common.owed.ride(counter, most, now) else { continue };
            let Ok(actual) = Cost::new(riding.units) else { continue };
            let settle = Ask::Settle { receipt: riding.receipt, actual };
            // Others may have used up all there is meanwhile.
            riders.checks.push((check.ask(settle).alone(), check.limit().charged_late()));
            riders.debts.push((counter, riding));
        }
        riders
    }

    /// Units of this node's share that are used: what has come back there is owed to nobody.
    fn used_by_share(&self, check: &Check<'_>) -> u64 {
        let share = check.limit().share_of(self.servers.nodes());
        self.used_here(&check.put_to(&share))
    }

    /// Units that are used of a limit in this node's memory.
    pub(super) fn used_here(&self, check: &Check<'_>) -> u64 {
        let peek = check.ask(Ask::peek()).alone();
        let mut standing = [None];
        self.memory.apply_at_once(&Set::one(&peek, fresh_id()), &mut standing);
        let [standing] = standing;
        standing.map_or(0, |standing| standing.limit().saturating_sub(standing.remaining()))
    }
}

impl Riders<'_> {
    /// As a set of its own, each by itself.
    pub(super) fn packed(&self, naming: &Naming) -> Option<Packed> {
        let checks: SmallVec<[Check<'_>; 1]> =
            self.checks.iter().map(|(check, limit)| check.put_to(limit)).collect();
        let set = Set::independent(&checks, fresh_id());
        (!checks.is_empty()).then(|| Packed::new(&set, naming))
    }

    /// The server has heard of them, now or before.
    pub(super) fn arrived(&self, owed: &Owed) {
        for (counter, riding) in &self.debts {
            owed.arrived(*counter, riding.receipt.id());
        }
    }
}
