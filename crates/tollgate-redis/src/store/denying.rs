//! Refuses, without asking the server, who certainly has to be refused.

use smallvec::SmallVec;
use tollgate::{Applied, By, fresh_id};
use tollgate_core::{Ask, Check, Decision, Gate, Place, Ruling, Set, State, Time, decide};

use super::Redis;
use crate::seen::Sight;
use crate::twin::{Counter, Packed};

impl Redis {
    /// The refusal of a set of which one requirement certainly is not met.
    ///
    /// Only that requirement's checks are answered: how the others stand is not known.
    pub(super) fn deny(
        &self,
        set: &Set<'_>,
        packed: &Packed,
        decisions: &mut [Option<Decision>],
    ) -> Option<Applied> {
        let takes = |check: &Check<'_>| matches!(check.asks(), Ask::Take(_));
        if !self.denies || set.is_independent() || !set.checks().iter().all(takes) {
            return None;
        }
        let machine = self.common.clock.machine();
        let mut term = Requirement::default();
        for (index, check) in set.checks().iter().enumerate() {
            if !check.is_alternative() {
                if term.refuses() {
                    break;
                }
                term = Requirement::default();
            }
            if check.gate() == Gate::Observe || term.is_open {
                continue;
            }
            let sight = self.sight(packed.counter(index));
            match sight.and_then(|sight| refusal(check, sight, machine)) {
                Some((decision, now)) => {
                    term.refused.push((index, decision));
                    term.now = now;
                }
                None => term.is_open = true,
            }
        }
        if !term.refuses() {
            return None;
        }
        decisions.fill(None);
        for (index, decision) in term.refused {
            if let Some(place) = decisions.get_mut(index) {
                *place = Some(decision);
            }
        }
        self.common.counters.by_memory.one();
        Some(Applied { ruling: Ruling::Refused, now: term.now, by: By::Memory })
    }

    /// What was seen of a counter on the server that has it.
    fn sight(&self, counter: Counter) -> Option<Sight> {
        let link = self.servers.link(self.servers.slot(&self.common, counter))?;
        self.common.seen.trusted(counter, &link.hearing)
    }
}

/// What is known of one requirement.
#[derive(Default)]
struct Requirement {
    refused: SmallVec<[(usize, Decision); 1]>,
    /// One of its checks may admit, for all that is known.
    is_open: bool,
    now: Time,
}

impl Requirement {
    fn refuses(&self) -> bool {
        !self.is_open && !self.refused.is_empty()
    }
}

/// The refusal of a check, if its counter refuses even at the latest that it can be in the store;
/// told as of the earliest, so that the wait it names is long enough.
fn refusal(check: &Check<'_>, sight: Sight, machine: Time) -> Option<(Decision, Time)> {
    let (latest, earliest) = (sight.at_latest(machine), sight.at_earliest(machine));
    ask(check, sight.state.clone(), latest)?;
    Some((ask(check, sight.state, earliest)?, earliest))
}

fn ask(check: &Check<'_>, state: State, now: Time) -> Option<Decision> {
    let alone = check.alone();
    let set = Set::one(&alone, fresh_id());
    let (mut states, mut decisions) = ([state], [None]);
    let ruling = decide(&set, now, &[Place::cell(0)], &mut states, &mut decisions);
    decisions[0].filter(|_| ruling == Ruling::Refused)
}
