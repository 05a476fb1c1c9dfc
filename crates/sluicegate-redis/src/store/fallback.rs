//! Decides without the server, by the `on_store_error` policy of each check.

use sluicegate::{Applied, CheckError, Clock, DecidedBy, next_set_id};
use sluicegate_core::{
    CellRef, Check, Cost, Decision, Limit, OnStoreError, Operation, Refusal, Ruling, Scope, Set,
    State, Time, decide,
};
use smallvec::SmallVec;

use super::Redis;
use super::subset::without_refund;
use crate::error::{ErrorKind, ServerError};
use crate::script::Counter;

/// How one check of a set is decided without the server.
enum Fallback {
    /// By this node's memory, under this limit.
    Memory(Box<Limit>),
    /// By policy, without counting.
    Unasked { allowed: bool },
}

impl Fallback {
    fn of(check: &Check<'_>, nodes: u32) -> Self {
        match (check.scope(), check.outage(), check.operation()) {
            // There is no local state that needs rescaling.
            (Scope::Cluster, OnStoreError::Allow, _)
            | (Scope::Cluster, _, Operation::Rescale { .. }) => Self::Unasked { allowed: true },
            (Scope::Cluster, OnStoreError::Deny, _) => Self::Unasked { allowed: false },
            (Scope::Cluster, OnStoreError::Local, _) => {
                Self::Memory(Box::new(check.limit().share_of(nodes)))
            }
            (Scope::Node, _, _) => Self::Memory(Box::new(check.limit().clone())),
        }
    }

    fn denies(&self) -> bool {
        matches!(self, Self::Unasked { allowed: false })
    }
}

impl Redis {
    /// Decides a set without the server.
    pub(super) fn without_store(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        failure: &ServerError,
    ) -> Result<Applied, CheckError> {
        self.without_servers(set, decisions, failure, |_| failure.class)
    }

    /// Decides a set without its servers. `failure` is the first cause, and `class_of` returns the
    /// kind of failure for each check.
    pub(super) fn without_servers(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        failure: &ServerError,
        class_of: impl Fn(usize) -> ErrorKind,
    ) -> Result<Applied, CheckError> {
        if failure.class.passes_over() {
            self.context.counters.passed_over.one();
            self.context.passed_over.note(failure);
        }
        if set.checks().iter().any(refers_to_charge) {
            return self.undo_locally(set, decisions, failure);
        }
        let nodes = self.topology.nodes();
        let fallbacks: SmallVec<[Fallback; 4]> =
            set.checks().iter().map(|check| Fallback::of(check, nodes)).collect();
        for ((check, fallback), place) in set.checks().iter().zip(&fallbacks).zip(&mut *decisions) {
            *place = match fallback {
                Fallback::Unasked { allowed } => {
                    Some(Decision::unasked(check.limit(), check.operation(), *allowed))
                }
                Fallback::Memory(_) => None,
            };
        }
        let now = self.context.clock.now();
        let denied = fallbacks.iter().any(Fallback::denies);
        let whole = !set.is_independent();
        // No share is charged for a set that a policy denies.
        let by_share = if denied && whole {
            None
        } else {
            self.by_share(set, &fallbacks, decisions, class_of)
        };
        let applied = match by_share {
            Some(applied) if denied && applied.ruling == Ruling::Admitted => {
                Applied { ruling: Ruling::Refused, ..applied }
            }
            Some(applied) => applied,
            None if denied => {
                self.context.counters.denied_by_policy.one();
                Applied { ruling: Ruling::Refused, now, by: DecidedBy::Policy }
            }
            None => {
                self.context.counters.allowed_by_policy.one();
                Applied { ruling: Ruling::Admitted, now, by: DecidedBy::Policy }
            }
        };
        if whole && applied.ruling == Ruling::Refused {
            // A policy may have allowed some checks of a set that another check refuses.
            for decision in decisions.iter_mut().flatten() {
                *decision = decision.withdrawn();
            }
        }
        Ok(applied)
    }

    /// Decides the checks that this node's memory answers; `None` if there are none.
    fn by_share(
        &self,
        set: &Set<'_>,
        fallbacks: &[Fallback],
        decisions: &mut [Option<Decision>],
        class_of: impl Fn(usize) -> ErrorKind,
    ) -> Option<Applied> {
        let mut checks: SmallVec<[Check<'_>; 8]> = SmallVec::new();
        let mut indexes: SmallVec<[(usize, Counter); 8]> = SmallVec::new();
        let mut term_is_local = false;
        for (index, (check, fallback)) in set.checks().iter().zip(fallbacks).enumerate() {
            term_is_local &= check.is_alternative();
            let Fallback::Memory(limit) = fallback else { continue };
            let mut check = check.put_to(limit);
            if check.scope() == Scope::Cluster && class_of(index).may_have_executed() {
                // The store may have refunded the units already; a second refund here would
                // duplicate them.
                check = without_refund(check);
            }
            // An alternative to a check that is not decided here has to admit by itself.
            checks.push(if term_is_local { check } else { check.alone() });
            indexes.push((index, self.context.key_space.counter(&check)));
            term_is_local = true;
        }
        if checks.is_empty() {
            return None;
        }
        for (check, (index, counter)) in checks.iter().zip(&indexes) {
            self.seed(check, set.checks()[*index].limit(), *counter);
        }
        let own = set.with_checks(&checks);
        let mut answers: SmallVec<[Option<Decision>; 8]> = checks.iter().map(|_| None).collect();
        let applied = self.memory.decide(&own, &mut answers);
        let charged = applied.ruling == Ruling::Admitted || set.is_independent();
        for ((check, (index, counter)), answer) in checks.iter().zip(indexes).zip(answers) {
            if let Some(decision) = answer.as_ref().filter(|_| charged) {
                self.record_pending((check, counter), decision, applied);
            }
            decisions[index] = answer;
        }
        if matches!(applied.ruling, Ruling::Admitted | Ruling::Refused) {
            self.context.counters.by_share.one();
        }
        Some(Applied { by: DecidedBy::Share, ..applied })
    }

    /// Starts from the last cached state of the store, if this node has no pending charge of its
    /// own.
    fn seed(&self, check: &Check<'_>, shared: &Limit, counter: Counter) {
        if check.scope() == Scope::Node
            || check.limit().holds()
            || self.context.pending.contains(counter)
        {
            return;
        }
        let Some(state) = self.context.deny_cache.take(counter) else { return };
        // The used fraction of the share is that of the whole limit.
        let now = self.context.clock.now();
        let share = u128::from(shared.share_used(&state, now));
        let capacity = u128::from(check.limit().capacity());
        let mut units = (share * capacity).div_ceil(u128::from(u16::MAX));
        if shared.counts_failures() && !is_blocked(&check.put_to(shared), state, now) {
            // Pending attempts are seeded as failures, but do not block by themselves.
            units = units.min(capacity - 1);
        }
        // Only the part that exceeds the units still in use here since the last fallback.
        let units = units.saturating_sub(u128::from(self.used_here(check)));
        let units = u64::try_from(units).ok().and_then(|units| Cost::new(units).ok());
        if let Some(units) = units.filter(|units| *units > Cost::ZERO) {
            let charge = check.with_operation(Operation::Charge(units)).alone();
            self.memory.decide(&Set::one(&charge, next_set_id()), &mut [None]);
        }
    }

    /// Records an admitted charge for replay to the store, except slots, which are held here.
    fn record_pending(
        &self,
        (check, counter): (&Check<'_>, Counter),
        decision: &Decision,
        applied: Applied,
    ) {
        let shared = check.scope() == Scope::Cluster && !check.limit().holds();
        // An attempt is reported as a failure, or not at all.
        let has_units = decision.receipt().is_some() && !check.limit().counts_failures();
        let contains = has_units || matches!(check.operation(), Operation::Charge(_));
        if shared && contains && decision.granted() > 0 {
            let until = applied.now + decision.reset_after();
            self.context.pending.add(counter, decision.granted(), until);
        }
    }

    /// Refunds or renews what was taken here. Only the store can change what was taken there.
    fn undo_locally(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        failure: &ServerError,
    ) -> Result<Applied, CheckError> {
        let here = |check: &Check<'_>| check.limit().holds() || check.scope() == Scope::Node;
        if set.checks().iter().all(here) {
            let applied = self.memory.decide(set, decisions);
            if applied.ruling == Ruling::Admitted {
                return Ok(applied);
            }
        }
        decisions.fill(None);
        Err(CheckError::StoreUnreachable { why: failure.why.clone().into() })
    }
}

/// Whether a cooldown is blocked in this state.
fn is_blocked(check: &Check<'_>, state: State, now: Time) -> bool {
    let peek = check.with_operation(Operation::peek()).alone();
    let mut decision = [None];
    let set = Set::one(&peek, next_set_id());
    decide(&set, now, &[CellRef::cell(0)], &mut [state], &mut decision);
    let [decision] = decision;
    matches!(decision.and_then(|made| made.refusal()), Some(Refusal::Blocked { .. }))
}

/// Whether a check refers to something that was taken before.
fn refers_to_charge(check: &Check<'_>) -> bool {
    matches!(check.operation(), Operation::Settle { .. } | Operation::Renew(_) | Operation::Reset)
}
