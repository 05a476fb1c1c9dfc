//! Refusals from the deny cache, without a call to the server.

use sluicegate::{Applied, DecidedBy};
use sluicegate_core::{Decision, Operation, Ruling, Set, State, decide};
use smallvec::SmallVec;

use super::Redis;
use crate::deny_cache::CachedState;
use crate::script::{Counter, EncodedSet, cells_of};

impl Redis {
    /// Returns the refusal of a set that the server would certainly refuse.
    ///
    /// Only for sets whose counters are all cached and have had nothing left since: as long as not
    /// one unit is free, no node can have been admitted, and none can have made the wait longer. A
    /// counter that has something left may have been charged by any node, so the server has to
    /// decide. One decision over all counters then names the strictest limit and explains every
    /// window, as the server would.
    pub(super) fn deny(
        &self,
        set: &Set<'_>,
        encoded: &EncodedSet,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        if !self.uses_deny_cache || set.is_independent() || !only_takes(set) {
            return None;
        }
        let machine = self.context.clock.machine();
        let mut cached_states: SmallVec<[(Counter, CachedState); 2]> = SmallVec::new();
        for (index, check) in set.checks().iter().enumerate() {
            let counter = encoded.counter(index);
            if cached_states.iter().any(|(known, _)| *known == counter) {
                continue;
            }
            let cached = self.cached_state(counter)?;
            if check.limit().share_used(&cached.state, cached.at_latest(machine)) < u16::MAX {
                return None;
            }
            cached_states.push((counter, cached));
        }
        let cells = cells_of(set);
        let cached_states: SmallVec<[CachedState; 2]> =
            cached_states.into_iter().map(|(_, cached)| cached).collect();
        // The last possible time on the server is the one most likely to admit, and it refuses.
        let latest = cached_states.iter().map(|cached| cached.at_latest(machine)).max()?;
        let mut states: SmallVec<[State; 2]> =
            cached_states.iter().map(|cached| cached.state.clone()).collect();
        let ruling = decide(set, latest, cells.places(), &mut states, decisions);
        let exhausted = |decision: &Option<Decision>| {
            decision.is_some_and(|decision| !decision.is_allowed() && decision.remaining() == 0)
        };
        // A state that this limit has to repair was written under another quota or a wrong clock:
        // the store has to repair it, or it would be refused from the cache forever.
        let mended =
            || states.iter().zip(&cached_states).any(|(state, cached)| *state != cached.state);
        if ruling != Ruling::Refused || !decisions.iter().all(exhausted) || mended() {
            decisions.fill(None);
            return None;
        }
        // Waits are computed from the earliest possible time, so that they are long enough.
        let earliest = cached_states.iter().map(|cached| cached.at_earliest(machine)).min()?;
        if earliest < latest {
            for (state, cached) in states.iter_mut().zip(cached_states) {
                *state = cached.state;
            }
            decide(set, earliest, cells.places(), &mut states, decisions);
        }
        self.context.counters.by_memory.one();
        Some(Applied { ruling: Ruling::Refused, now: earliest, by: DecidedBy::Memory })
    }

    /// Returns the cached state of a counter from the server that has it.
    fn cached_state(&self, counter: Counter) -> Option<CachedState> {
        let client = self.topology.client(self.topology.slot(&self.context, counter))?;
        self.context.deny_cache.trusted(counter, &client.epoch)
    }
}

/// Whether a set contains only takes.
pub(super) fn only_takes(set: &Set<'_>) -> bool {
    set.checks().iter().all(|check| matches!(check.operation(), Operation::Take(_)))
}
