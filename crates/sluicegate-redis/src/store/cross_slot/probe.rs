//! Probes counters without deciding their checks, and runs the side effects of refused sets.

use futures_util::future::join_all;
use sluicegate_core::{Check, Cost, Operation, Set, State, Time};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::partition::Partition;
use super::transaction::Transaction;
use crate::script::{EncodedSet, SetReply, cells_of};
use crate::store::Redis;
use crate::store::subset::{Indexes, refusing, refusing_limit};

impl Redis {
    /// Probes the counters of a set whose state is not known yet. Returns the latest time of an
    /// answer. The checks are sent as alternatives to a check that admits, so that none of them is
    /// decided.
    pub(super) async fn probe(
        &self,
        set: &Set<'_>,
        terms: &Partition,
        transaction: &mut Transaction<'_>,
        until: Instant,
    ) -> Option<Time> {
        let cells = cells_of(set);
        let is_unknown =
            |index: &usize| transaction.before[cells.places()[*index].index()].is_none();
        let unknown: Indexes = (0..set.checks().len()).filter(is_unknown).collect();
        let subsets = terms.by_slot(set, &unknown).into_iter().map(async |in_slot| {
            let beside = Check::new(refusing_limit()?, in_slot.subset.checks.first()?.key());
            let admits = beside.with_operation(Operation::Charge(Cost::ZERO));
            let others = in_slot.subset.checks.iter().map(|check| check.or_else());
            let checks: SmallVec<[Check<'_>; 8]> = std::iter::once(admits).chain(others).collect();
            let answer = self.observe_refused(set, &checks, in_slot.slot, until).await?;
            Some((in_slot.subset, answer))
        });
        let mut now = None;
        for (subset, answer) in join_all(subsets).await.into_iter().flatten() {
            now = now.max(Some(answer.now));
            // The first state is that of the check that admits.
            let noted = transaction.note(set, &subset, answer.states.into_iter().skip(1).collect());
            transaction.probed.extend(noted);
        }
        now
    }

    /// Sends checks in a set that the server refuses.
    async fn observe_refused(
        &self,
        whole: &Set<'_>,
        checks: &[Check<'_>],
        slot: u16,
        until: Instant,
    ) -> Option<SetReply> {
        let checks: SmallVec<[Check<'_>; 8]> =
            checks.iter().copied().chain(refusing(checks)).collect();
        let own = Set::all(&checks, whole.id()).answered_within(whole.within());
        let encoded = EncodedSet::new(&own, &self.context.key_space);
        Some(self.observe(&own, encoded, slot, until).await.ok()?.answer)
    }

    /// Carries over the usage of callers that changed their tier. This happens whether or not the
    /// set is admitted, and before any check is decided. It is done once, so it remains part of the
    /// set.
    pub(super) async fn carry_over_tiers(&self, set: &Set<'_>, terms: &Partition, until: Instant) {
        let changes = |index: &usize| rescales(&set.checks()[*index]);
        let changing: Indexes = (0..set.checks().len()).filter(changes).collect();
        self.apply_side_effects(set, terms, &changing, until).await;
    }

    /// Runs the checks inside a set that is always refused, so that only its unconditional effects
    /// (rescaling, repair) happen.
    async fn apply_side_effects(
        &self,
        set: &Set<'_>,
        terms: &Partition,
        checks: &[usize],
        until: Instant,
    ) {
        join_all(terms.by_slot(set, checks).into_iter().map(async |in_slot| {
            let checks: Vec<_> = in_slot.subset.checks.iter().map(|check| check.alone()).collect();
            self.observe_refused(set, &checks, in_slot.slot, until).await
        }))
        .await;
    }

    /// Repairs states that were only probed: those from a time in the future, because a clock was
    /// wrong. A check that is decided repairs its state by itself.
    pub(super) async fn repair(
        &self,
        set: &Set<'_>,
        terms: &Partition,
        transaction: &Transaction<'_>,
        (after, checks): (&[State], &[usize]),
        until: Instant,
    ) {
        let is_mended = |cell: &usize| transaction.before[*cell].as_ref() != Some(&after[*cell]);
        let mended: Vec<usize> = transaction.probed.iter().copied().filter(is_mended).collect();
        if mended.is_empty() {
            return;
        }
        let cells = cells_of(set);
        let is_met = |index: &&usize| mended.contains(&cells.places()[**index].index());
        let met: Indexes = checks.iter().filter(is_met).copied().collect();
        self.apply_side_effects(set, terms, &met, until).await;
    }
}

/// Whether a check carries over the usage of a caller.
fn rescales(check: &Check<'_>) -> bool {
    matches!(check.operation(), Operation::Rescale { .. })
}
