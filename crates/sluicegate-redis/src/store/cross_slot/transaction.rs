//! A set while its subsets are decided.

use futures_util::future::join_all;
use sluicegate_core::{Decision, Ruling, Set, State, Time, decide};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::script::cells_of;
use crate::store::Redis;
use crate::store::subset::Subset;

/// A set while its subsets are decided. The charges are refunded on drop unless the set commits,
/// because the caller may be dropped meanwhile.
pub(super) struct Transaction<'a> {
    pub(super) store: &'a Redis,
    /// The decided subsets, and whether each was charged.
    pub(super) subsets: Vec<(Subset<'a>, bool)>,
    /// The states of the set's counters before it, as far as they are known.
    pub(super) before: Vec<Option<State>>,
    /// Counters that were only probed.
    pub(super) probed: Vec<usize>,
    pub(super) is_open: bool,
}

impl<'a> Transaction<'a> {
    pub(super) fn of(store: &'a Redis, set: &Set<'_>) -> Self {
        let before = vec![None; cells_of(set).names().len()];
        Self { store, subsets: Vec::new(), before, probed: Vec::new(), is_open: true }
    }
}

impl Transaction<'_> {
    /// Records the states of a subset's counters before the set. Returns their indexes in the set,
    /// of those that were not known yet.
    pub(super) fn note(
        &mut self,
        set: &Set<'_>,
        subset: &Subset<'_>,
        before: Vec<State>,
    ) -> Vec<usize> {
        let whole = cells_of(set);
        let own = set.with_checks(&subset.checks);
        let mut noted = Vec::new();
        for (cell, state) in cells_of(&own).names().iter().zip(before) {
            let place = whole.names().iter().position(|known| known == cell);
            if let Some(place) = place.filter(|place| self.before[*place].is_none()) {
                self.before[place] = Some(state);
                noted.push(place);
            }
        }
        noted
    }

    /// Refunds all charges and waits for completion, so that the caller does not find them after
    /// the refusal. Refunds that take longer continue in the background.
    pub(super) async fn refund_within(&mut self, until: Instant) {
        let refunds = join_all(self.refund());
        let until = self.store.context.soon(until);
        let _ = self.store.context.in_time(until, refunds).await;
    }

    fn refund(&mut self) -> Vec<JoinHandle<()>> {
        let mut refunds = Vec::new();
        if std::mem::take(&mut self.is_open) {
            for (subset, charged) in &mut self.subsets {
                if *charged {
                    refunds.extend(self.store.refund_subset(subset));
                    for decision in subset.decisions.iter_mut().flatten() {
                        *decision = decision.withdrawn();
                    }
                }
            }
        }
        refunds
    }

    /// Refunds the charges of an independent set for checks that were finally refused.
    pub(super) fn refund_refused(&mut self, decisions: &[Option<Decision>]) {
        self.is_open = false;
        for (subset, charged) in std::mem::take(&mut self.subsets) {
            let subset = if charged { subset.only_refused(decisions) } else { Subset::nothing() };
            drop(self.store.refund_subset(&subset));
        }
    }

    pub(super) fn copy_decisions(&self, decisions: &mut [Option<Decision>]) {
        for (subset, _) in &self.subsets {
            subset.copy_decisions(decisions);
        }
    }

    /// Decides the set on the states before it, as if one server had seen them all. Returns the
    /// states after it as well; `None` unless all states are known.
    pub(super) fn explain(
        &self,
        set: &Set<'_>,
        now: Time,
        decisions: &mut [Option<Decision>],
    ) -> Option<(Ruling, Vec<State>)> {
        let mut states = self.before.iter().cloned().collect::<Option<Vec<State>>>()?;
        let ruling = decide(set, now, cells_of(set).places(), &mut states, decisions);
        Some((ruling, states))
    }

    /// Explains refusals that preceded an admitting alternative in another slot: their decisions
    /// are from a set that was not committed, or missing. Returns the states after the set, and the
    /// checks that had no decision.
    pub(super) fn explain_skipped(
        &self,
        set: &Set<'_>,
        now: Time,
        decisions: &mut [Option<Decision>],
    ) -> (Vec<State>, Vec<usize>) {
        // The states of counters that no server had to decide do not matter.
        let unknown = |state: &Option<State>| state.clone().unwrap_or(State::Vacant);
        let mut states: Vec<State> = self.before.iter().map(unknown).collect();
        let mut explained = vec![None; decisions.len()];
        decide(set, now, cells_of(set).places(), &mut states, &mut explained);
        let refused = |decision: Decision| !decision.is_allowed();
        let mut skipped = Vec::new();
        for (index, (decision, explained)) in decisions.iter_mut().zip(explained).enumerate() {
            if explained.is_some_and(refused) && decision.is_none_or(refused) {
                if decision.is_none() {
                    skipped.push(index);
                }
                *decision = explained;
            }
        }
        (states, skipped)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        drop(self.refund());
    }
}
