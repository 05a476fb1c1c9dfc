//! Replays charges this node admitted by itself, before the next check of their counters.

use sluicegate::{Clock, next_set_id};
use sluicegate_core::{Check, Cost, Limit, Operation, Set};
use smallvec::SmallVec;

use super::Redis;
use crate::pending_charges::{PendingCharges, ReplayedCharge};
use crate::script::{Counter, EncodedSet, KeySpace};

/// Pending charges that are sent with a set.
pub(super) struct Replay<'a> {
    /// Each check with the limit that it is charged to.
    checks: SmallVec<[(Check<'a>, Limit); 1]>,
    charges: SmallVec<[(Counter, ReplayedCharge); 1]>,
}

impl Redis {
    /// Collects the pending charges of the counters of a set.
    pub(super) fn collect_replay<'a>(&self, set: &Set<'a>, encoded: &EncodedSet) -> Replay<'a> {
        let mut replay = Replay { checks: SmallVec::new(), charges: SmallVec::new() };
        if self.context.pending.is_empty() {
            return replay;
        }
        let now = self.context.clock.now();
        for (index, check) in set.checks().iter().enumerate() {
            let counter = encoded.counter(index);
            if replay.charges.iter().any(|(known, _)| *known == counter)
                || !self.context.pending.contains(counter)
            {
                continue;
            }
            let most = self.used_by_share(check);
            let Some(charge) = self.context.pending.replay(counter, most, now) else { continue };
            let Ok(actual) = Cost::new(charge.units) else { continue };
            let settle = Operation::Settle { receipt: charge.receipt, actual };
            // Other nodes may have used up the limit meanwhile.
            replay
                .checks
                .push((check.with_operation(settle).alone(), check.limit().charged_late()));
            replay.charges.push((counter, charge));
        }
        replay
    }

    /// Units of this node's share in use. Units that have refilled there are no longer pending.
    fn used_by_share(&self, check: &Check<'_>) -> u64 {
        let share = check.limit().share_of(self.topology.nodes());
        self.used_here(&check.put_to(&share))
    }

    /// Units of a limit in use in this node's memory.
    pub(super) fn used_here(&self, check: &Check<'_>) -> u64 {
        let peek = check.with_operation(Operation::peek()).alone();
        let mut peeked = [None];
        self.memory.decide(&Set::one(&peek, next_set_id()), &mut peeked);
        let [peeked] = peeked;
        peeked.map_or(0, |peeked| peeked.limit().saturating_sub(peeked.remaining()))
    }
}

impl Replay<'_> {
    /// Encodes the charges as an independent set of their own.
    pub(super) fn encode(&self, key_space: &KeySpace) -> Option<EncodedSet> {
        let checks: SmallVec<[Check<'_>; 1]> =
            self.checks.iter().map(|(check, limit)| check.put_to(limit)).collect();
        let set = Set::independent(&checks, next_set_id());
        (!checks.is_empty()).then(|| EncodedSet::new(&set, key_space))
    }

    /// Records that the server has received the charges, now or before.
    pub(super) fn confirm(&self, pending: &PendingCharges) {
        for (counter, charge) in &self.charges {
            pending.confirm(*counter, charge.receipt.id());
        }
    }
}
