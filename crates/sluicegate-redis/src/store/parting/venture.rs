//! A set while its parts are asked.

use futures_util::future::join_all;
use sluicegate_core::{Decision, Ruling, Set, State, Time, decide};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::store::Redis;
use crate::store::part::{Part, like};
use crate::twin::Cells;

/// A set while its parts are asked. What was charged is given back unless the set comes to stand, also
/// if whoever asked goes away meanwhile.
pub(super) struct Venture<'a> {
    pub(super) store: &'a Redis,
    /// What was answered, and whether it was charged.
    pub(super) parts: Vec<(Part<'a>, bool)>,
    /// How the counters of the whole set stood before, as far as is known.
    pub(super) before: Vec<Option<State>>,
    /// Those that were looked at and not asked.
    pub(super) looked: Vec<usize>,
    pub(super) is_open: bool,
}

impl<'a> Venture<'a> {
    pub(super) fn of(store: &'a Redis, set: &Set<'_>) -> Self {
        let before = vec![None; Cells::of(set).list.len()];
        Self { store, parts: Vec::new(), before, looked: Vec::new(), is_open: true }
    }
}

impl Venture<'_> {
    /// Takes down how the counters of a part stood before the set; which ones of the set they are, of
    /// those that were not known yet.
    pub(super) fn note(
        &mut self,
        set: &Set<'_>,
        part: &Part<'_>,
        before: Vec<State>,
    ) -> Vec<usize> {
        let whole = Cells::of(set);
        let own = like(set, &part.checks);
        let mut noted = Vec::new();
        for (cell, state) in Cells::of(&own).list.iter().zip(before) {
            let place = whole.list.iter().position(|known| known.is_same(cell));
            if let Some(place) = place
                && let Some(known @ None) = self.before.get_mut(place)
            {
                *known = Some(state);
                noted.push(place);
            }
        }
        noted
    }

    /// Gives back what was charged, and waits until that is done: whoever is told of the refusal is not
    /// to find it still charged. What takes longer goes on by itself.
    pub(super) async fn give_back_by(&mut self, until: Instant) {
        let told = join_all(self.give_back());
        let until = self.store.common.soon(until);
        let _ = self.store.common.in_time(until, told).await;
    }

    fn give_back(&mut self) -> Vec<JoinHandle<()>> {
        let mut told = Vec::new();
        if std::mem::take(&mut self.is_open) {
            for (part, charged) in &mut self.parts {
                if *charged {
                    told.extend(self.store.give_back(part));
                    for decision in part.decisions.iter_mut().flatten() {
                        *decision = decision.withdrawn();
                    }
                }
            }
        }
        told
    }

    /// Gives back what was charged for checks of an independent set that were refused after all.
    pub(super) fn give_back_refused(&mut self, decisions: &[Option<Decision>]) {
        self.is_open = false;
        for (part, charged) in std::mem::take(&mut self.parts) {
            let part = if charged { part.refused_after_all(decisions) } else { Part::nothing() };
            drop(self.store.give_back(&part));
        }
    }

    pub(super) fn hand_over(&self, decisions: &mut [Option<Decision>]) {
        for (part, _) in &self.parts {
            part.hand_over(decisions);
        }
    }

    /// How a set is decided that finds its counters as they were before, as if one server had seen all
    /// of it, and how they are after it; if all is known.
    pub(super) fn explain(
        &self,
        set: &Set<'_>,
        now: Time,
        decisions: &mut [Option<Decision>],
    ) -> Option<(Ruling, Vec<State>)> {
        let mut states = self.before.iter().cloned().collect::<Option<Vec<State>>>()?;
        let ruling = decide(set, now, &Cells::of(set).places, &mut states, decisions);
        Some((ruling, states))
    }

    /// Tells what was refused before an alternative elsewhere admitted: that was told of a set that did
    /// not stand, or not at all. How counters are after the set, and which checks were not asked.
    pub(super) fn retell_refusals(
        &self,
        set: &Set<'_>,
        now: Time,
        decisions: &mut [Option<Decision>],
    ) -> (Vec<State>, Vec<usize>) {
        // What nobody had to be asked about does not matter.
        let unknown = |state: &Option<State>| state.clone().unwrap_or(State::Vacant);
        let mut states: Vec<State> = self.before.iter().map(unknown).collect();
        let mut told = vec![None; decisions.len()];
        decide(set, now, &Cells::of(set).places, &mut states, &mut told);
        let refused = |decision: Decision| !decision.is_allowed();
        let mut skipped = Vec::new();
        for (index, (decision, told)) in decisions.iter_mut().zip(told).enumerate() {
            if told.is_some_and(refused) && decision.is_none_or(refused) {
                if decision.is_none() {
                    skipped.push(index);
                }
                *decision = told;
            }
        }
        (states, skipped)
    }
}

impl Drop for Venture<'_> {
    fn drop(&mut self) {
        drop(self.give_back());
    }
}
