//! Decides without the server, as each check says.

use sluicegate::{Applied, By, CheckError, Clock, Store, fresh_id};
use sluicegate_core::{
    Ask, Check, Cost, Decision, Gate, Limit, Outage, Place, Refusal, Ruling, Scope, Set, State,
    Time, decide,
};
use smallvec::SmallVec;

use super::Redis;
use super::part::{like, without_refund};
use crate::failure::{Class, Failure};
use crate::twin::Counter;

/// How one check of a set is answered without the server.
enum Way {
    /// By this node's memory, under this limit.
    Memory(Limit),
    /// Not at all.
    Unasked { allowed: bool },
}

impl Way {
    fn of(check: &Check<'_>, nodes: u32) -> Self {
        match (check.scope(), check.outage(), check.asks()) {
            // There is no state here that had to be read in another way.
            (Scope::Cluster, Outage::Allow, _) | (Scope::Cluster, _, Ask::Rescale { .. }) => {
                Self::Unasked { allowed: true }
            }
            (Scope::Cluster, Outage::Deny, _) => Self::Unasked { allowed: false },
            (Scope::Cluster, Outage::Local, _) => Self::Memory(check.limit().share_of(nodes)),
            (Scope::Node, _, _) => Self::Memory(check.limit().clone()),
        }
    }

    fn denies(&self, check: &Check<'_>) -> bool {
        matches!(self, Self::Unasked { allowed: false }) && check.gate() == Gate::Enforce
    }
}

impl Redis {
    /// Decides a set without the server.
    pub(super) fn without_store(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        failure: &Failure,
    ) -> Result<Applied, CheckError> {
        self.without_servers(set, decisions, failure, |_| failure.class)
    }

    /// Decides a set without its servers: why the first of them did not answer, and what kind of failure
    /// that was for each check.
    pub(super) fn without_servers(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        failure: &Failure,
        class_of: impl Fn(usize) -> Class,
    ) -> Result<Applied, CheckError> {
        if failure.class.passes_over() {
            self.common.counters.passed_over.one();
            self.common.passed_over.note(failure);
        }
        if set.checks().iter().any(is_about_the_past) {
            return self.undo_here(set, decisions, failure);
        }
        let nodes = self.servers.nodes();
        let ways: SmallVec<[Way; 4]> =
            set.checks().iter().map(|check| Way::of(check, nodes)).collect();
        for ((check, way), place) in set.checks().iter().zip(&ways).zip(&mut *decisions) {
            *place = match way {
                Way::Unasked { allowed } => {
                    Some(Decision::unasked(check.limit(), check.asks(), *allowed))
                }
                Way::Memory(_) => None,
            };
        }
        let now = self.common.clock.now();
        let denied = set.checks().iter().zip(&ways).any(|(check, way)| way.denies(check));
        if denied && !set.is_independent() {
            for decision in decisions.iter_mut().flatten() {
                *decision = decision.withdrawn();
            }
            self.common.counters.denied_by_policy.one();
            return Ok(Applied { ruling: Ruling::Refused, now, by: By::Policy });
        }
        Ok(match self.by_share(set, &ways, decisions, class_of) {
            Some(applied) if denied && applied.ruling == Ruling::Admitted => {
                Applied { ruling: Ruling::Refused, ..applied }
            }
            Some(applied) => applied,
            None if denied => {
                self.common.counters.denied_by_policy.one();
                Applied { ruling: Ruling::Refused, now, by: By::Policy }
            }
            None => {
                self.common.counters.allowed_by_policy.one();
                Applied { ruling: Ruling::Admitted, now, by: By::Policy }
            }
        })
    }

    /// Decides the checks that this node answers by itself; `None` if there are none.
    fn by_share(
        &self,
        set: &Set<'_>,
        ways: &[Way],
        decisions: &mut [Option<Decision>],
        class_of: impl Fn(usize) -> Class,
    ) -> Option<Applied> {
        let mut checks: SmallVec<[Check<'_>; 8]> = SmallVec::new();
        let mut asked: SmallVec<[(usize, Counter); 8]> = SmallVec::new();
        let mut term_is_asked = false;
        for (index, (check, way)) in set.checks().iter().zip(ways).enumerate() {
            term_is_asked &= check.is_alternative();
            let Way::Memory(limit) = way else { continue };
            let mut check = check.put_to(limit);
            if check.scope() == Scope::Cluster && class_of(index).leaves_in_doubt() {
                // The store may have given the units back; they would be there and here.
                check = without_refund(check);
            }
            // An alternative to what is not asked here has to admit by itself.
            checks.push(if term_is_asked { check } else { check.alone() });
            asked.push((index, self.common.naming.counter(&check)));
            term_is_asked = true;
        }
        if checks.is_empty() {
            return None;
        }
        for (check, (index, counter)) in checks.iter().zip(&asked) {
            if let Some(shared) = set.checks().get(*index) {
                self.seed(check, shared.limit(), *counter);
            }
        }
        let own = like(set, &checks);
        let mut answers: SmallVec<[Option<Decision>; 8]> = checks.iter().map(|_| None).collect();
        let applied = self.memory.apply_at_once(&own, &mut answers)?;
        let charged = applied.ruling == Ruling::Admitted || set.is_independent();
        for ((check, (index, counter)), answer) in checks.iter().zip(asked).zip(answers) {
            if let Some(decision) = answer.as_ref().filter(|_| charged) {
                let doubtful = class_of(index).is_doubtful();
                self.owe((check, counter), decision, applied, doubtful);
            }
            if let Some(place) = decisions.get_mut(index) {
                *place = answer;
            }
        }
        if matches!(applied.ruling, Ruling::Admitted | Ruling::Refused) {
            self.common.counters.by_share.one();
        }
        Some(Applied { by: By::Share, ..applied })
    }

    /// Begins with what was last seen in the store, if this node has nothing of its own to go by.
    fn seed(&self, check: &Check<'_>, shared: &Limit, counter: Counter) {
        if check.scope() == Scope::Node || check.limit().holds() || self.common.owed.owes(counter) {
            return;
        }
        let Some(state) = self.common.seen.take(counter) else { return };
        // As much of its share is used as of the whole.
        let now = self.common.clock.now();
        let share = u128::from(shared.share_used(&state, now));
        let capacity = u128::from(check.limit().capacity());
        let mut units = (share * capacity).div_ceil(u128::from(u16::MAX));
        if shared.counts_failures() && !is_blocked(&check.put_to(shared), state, now) {
            // Pending attempts are seeded as failures, but do not block by themselves.
            units = units.min(capacity - 1);
        }
        // Only as far as it is not used anyway, from the last time that it was needed.
        let units = units.saturating_sub(u128::from(self.used_here(check)));
        let units = u64::try_from(units).ok().and_then(|units| Cost::new(units).ok());
        if let Some(units) = units.filter(|units| *units > Cost::ZERO) {
            let charge = check.ask(Ask::Charge(units)).alone();
            self.memory.apply_at_once(&Set::one(&charge, fresh_id()), &mut [None]);
        }
    }

    /// Remembers what was admitted, to tell the store. Slots are not told: they are held here.
    fn owe(
        &self,
        (check, counter): (&Check<'_>, Counter),
        decision: &Decision,
        applied: Applied,
        doubtful: bool,
    ) {
        let shared = check.scope() == Scope::Cluster && !check.limit().holds();
        // An attempt is reported as a failure, or not at all.
        let has_units = decision.receipt().is_some() && !check.limit().counts_failures();
        let owes = has_units || matches!(check.asks(), Ask::Charge(_));
        if shared && owes && decision.granted() > 0 {
            let until = applied.now + decision.reset_after();
            let slot = self.servers.slot(&self.common, counter);
            let link = self.servers.link(slot).map(|link| link.number);
            self.common.owed.add(counter, decision.granted(), until, link.filter(|_| doubtful));
        }
    }

    /// Gives back or renews what was taken here. What was taken in the store only that can.
    fn undo_here(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        failure: &Failure,
    ) -> Result<Applied, CheckError> {
        let here = |check: &Check<'_>| check.limit().holds() || check.scope() == Scope::Node;
        if set.checks().iter().all(here)
            && let Some(applied) = self.memory.apply_at_once(set, decisions)
            && applied.ruling == Ruling::Admitted
        {
            return Ok(applied);
        }
        decisions.fill(None);
        Err(CheckError::StoreUnreachable { why: failure.why.clone().into() })
    }
}

/// Whether a cooldown is blocked in this state.
fn is_blocked(check: &Check<'_>, state: State, now: Time) -> bool {
    let peek = check.ask(Ask::peek()).alone();
    let mut decision = [None];
    let set = Set::one(&peek, fresh_id());
    decide(&set, now, &[Place::cell(0)], &mut [state], &mut decision);
    let [decision] = decision;
    matches!(decision.and_then(|made| made.refusal()), Some(Refusal::Blocked { .. }))
}

/// Whether a check is about something that was taken before.
fn is_about_the_past(check: &Check<'_>) -> bool {
    matches!(check.asks(), Ask::Settle { .. } | Ask::Renew(_) | Ask::Reset)
}
