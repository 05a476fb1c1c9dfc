//! Looks at counters of a set without asking its checks, and what else is done beside a set.

use futures_util::future::join_all;
use sluicegate_core::{Ask, Check, Cost, Place, Set, State, Time};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::terms::Terms;
use super::venture::Venture;
use crate::store::Redis;
use crate::store::part::{Indexes, never, refusing};
use crate::twin::{Answer, Cells, Packed};

impl Redis {
    /// Looks at the counters of a set that nobody was asked about yet; the latest time at which one was
    /// seen. Its checks are put to the servers as alternatives to something that admits, so that none
    /// of them is asked.
    pub(super) async fn look(
        &self,
        set: &Set<'_>,
        terms: &Terms,
        venture: &mut Venture<'_>,
        until: Instant,
    ) -> Option<Time> {
        let Cells { places, .. } = Cells::of(set);
        let is_unknown = |index: &usize| {
            let place = places.get(*index).map(Place::index);
            place.and_then(|place| venture.before.get(place)).is_some_and(Option::is_none)
        };
        let unknown: Indexes = (0..set.checks().len()).filter(is_unknown).collect();
        let parts = terms.apart(set, &unknown).into_iter().map(async |in_slot| {
            let beside = Check::new(never()?, in_slot.part.checks.first()?.key());
            let admits = beside.ask(Ask::Charge(Cost::ZERO));
            let mut checks: SmallVec<[Check<'_>; 8]> = SmallVec::new();
            checks.extend([admits, admits.observed().or_else()]);
            checks.extend(in_slot.part.checks.iter().map(|check| check.or_else()));
            let answer = self.see_refused(set, &checks, in_slot.slot, until).await?;
            Some((in_slot.part, answer))
        });
        let mut now = None;
        for (part, answer) in join_all(parts).await.into_iter().flatten() {
            now = now.max(Some(answer.now));
            // The first is that of what they are put beside.
            let noted = venture.note(set, &part, answer.states.into_iter().skip(1).collect());
            venture.looked.extend(noted);
        }
        now
    }

    /// Puts checks to a server in a set that it refuses.
    async fn see_refused(
        &self,
        whole: &Set<'_>,
        checks: &[Check<'_>],
        slot: u16,
        until: Instant,
    ) -> Option<Answer> {
        let checks: SmallVec<[Check<'_>; 8]> =
            checks.iter().copied().chain(refusing(checks)).collect();
        let own = Set::all(&checks, whole.id()).answered_within(whole.within());
        let packed = Packed::new(&own, &self.common.naming);
        Some(self.see(&own, packed, slot, until).await.ok()?.answer)
    }

    /// Carries over what callers have used who changed their tier, which is done whatever becomes of the
    /// set, and before anything is asked. Being done once, it stays in the set.
    pub(super) async fn change_tiers(&self, set: &Set<'_>, terms: &Terms, until: Instant) {
        let changes = |index: &usize| set.checks().get(*index).is_some_and(changes_tier);
        let changing: Indexes = (0..set.checks().len()).filter(changes).collect();
        self.ask_in_vain(set, terms, &changing, until).await;
    }

    /// Asks these checks in sets that are refused: only what is done whatever becomes of a set is done.
    async fn ask_in_vain(&self, set: &Set<'_>, terms: &Terms, checks: &[usize], until: Instant) {
        join_all(terms.apart(set, checks).into_iter().map(async |in_slot| {
            let checks: Vec<_> = in_slot.part.checks.iter().map(|check| check.alone()).collect();
            self.see_refused(set, &checks, in_slot.slot, until).await
        }))
        .await;
    }

    /// Has the servers mend what checks found in disorder where it was only looked at: state from a time
    /// that has not come yet, because a clock was wrong. Whoever is asked does that by itself.
    pub(super) async fn mend(
        &self,
        set: &Set<'_>,
        terms: &Terms,
        venture: &Venture<'_>,
        (after, checks): (&[State], &[usize]),
        until: Instant,
    ) {
        let is_mended =
            |cell: &usize| venture.before.get(*cell).and_then(Option::as_ref) != after.get(*cell);
        let mended: Vec<usize> = venture.looked.iter().copied().filter(is_mended).collect();
        if mended.is_empty() {
            return;
        }
        let Cells { places, .. } = Cells::of(set);
        let is_met = |index: &&usize| {
            places.get(**index).is_some_and(|place| mended.contains(&place.index()))
        };
        let met: Indexes = checks.iter().filter(is_met).copied().collect();
        self.ask_in_vain(set, terms, &met, until).await;
    }
}

/// Whether a check carries over what a caller has used.
fn changes_tier(check: &Check<'_>) -> bool {
    matches!(check.asks(), Ask::Rescale { .. })
}
