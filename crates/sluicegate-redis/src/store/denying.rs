//! Refusals from the deny cache, without a call to the server.

use sluicegate::{Applied, By};
use sluicegate_core::{Ask, Check, Decision, Gate, Ruling, Set, State, decide};
use smallvec::SmallVec;

use super::Redis;
use crate::seen::Sight;
use crate::twin::{Cells, Counter, Packed};

impl Redis {
    /// The refusal of a set that the server would answer in the same way.
    ///
    /// Only for sets of which every counter was seen and has had nothing left since: as long as not one
    /// unit is free, no node can have been admitted, and none can have made the wait longer. A counter
    /// that has something left may have been charged by any node, so the server is asked. One decision
    /// over all counters then names the strictest limit and explains every window, as the server would.
    pub(super) fn deny(
        &self,
        set: &Set<'_>,
        packed: &Packed,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        let enforced = |check: &Check<'_>| check.gate() == Gate::Enforce;
        if !self.denies || set.is_independent() || !only_takes(set) {
            return None;
        }
        let machine = self.common.clock.machine();
        let mut sights: SmallVec<[(Counter, Sight); 2]> = SmallVec::new();
        for (index, check) in set.checks().iter().enumerate() {
            let counter = packed.counter(index);
            if sights.iter().any(|(known, _)| *known == counter) {
                continue;
            }
            let sight = self.sight(counter)?;
            if check.limit().share_used(&sight.state, sight.at_latest(machine)) < u16::MAX {
                return None;
            }
            sights.push((counter, sight));
        }
        if !set.checks().iter().all(enforced) {
            return None;
        }
        let (sights, Cells { places, .. }) = (sights.into_iter(), Cells::of(set));
        let sights: SmallVec<[Sight; 2]> = sights.map(|(_, sight)| sight).collect();
        // Whenever it may be in the store, it refuses: the last moment is the one that could admit.
        let latest = sights.iter().map(|sight| sight.at_latest(machine)).max()?;
        let mut states: SmallVec<[State; 2]> =
            sights.iter().map(|sight| sight.state.clone()).collect();
        let ruling = decide(set, latest, &places, &mut states, decisions);
        let exhausted = |decision: &Option<Decision>| {
            decision.is_some_and(|decision| !decision.is_allowed() && decision.remaining() == 0)
        };
        // A state that this limit has to mend was written under another quota or a wrong clock: the store has to
        // mend it, or it would be refused from here for ever.
        let mended = || states.iter().zip(&sights).any(|(state, sight)| *state != sight.state);
        if ruling != Ruling::Refused || !decisions.iter().all(exhausted) || mended() {
            decisions.fill(None);
            return None;
        }
        // Waits count from the first moment that it may be, so that they are long enough.
        let earliest = sights.iter().map(|sight| sight.at_earliest(machine)).min()?;
        if earliest < latest {
            for (state, sight) in states.iter_mut().zip(sights) {
                *state = sight.state;
            }
            decide(set, earliest, &places, &mut states, decisions);
        }
        self.common.counters.by_memory.one();
        Some(Applied { ruling: Ruling::Refused, now: earliest, by: By::Memory })
    }

    /// The last state of a counter that was seen on the server that has it.
    fn sight(&self, counter: Counter) -> Option<Sight> {
        let link = self.servers.link(self.servers.slot(&self.common, counter))?;
        self.common.seen.trusted(counter, &link.hearing)
    }
}

/// Whether a set does nothing but take.
pub(super) fn only_takes(set: &Set<'_>) -> bool {
    set.checks().iter().all(|check| matches!(check.asks(), Ask::Take(_)))
}
