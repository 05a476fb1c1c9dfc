//! A subset of a set's checks, which is decided separately.

use std::sync::OnceLock;

use sluicegate_core::{
    ChargeId, Check, Cost, Decision, Limit, Operation, Parameters, Quota, Set, Span,
};
use smallvec::SmallVec;

/// Some checks of a set, and their decisions.
#[derive(Debug)]
pub(super) struct Subset<'a> {
    /// The indexes of the checks in the set.
    pub(super) indexes: Indexes,
    pub(super) checks: SmallVec<[Check<'a>; 8]>,
    pub(super) decisions: SmallVec<[Option<Decision>; 8]>,
}

/// Indexes of checks, in ascending order.
pub(super) type Indexes = SmallVec<[usize; 8]>;

impl<'a> Subset<'a> {
    pub(super) fn of(set: &Set<'a>, indexes: Indexes) -> Self {
        let checks = indexes.iter().map(|index| set.checks()[*index]).collect();
        let decisions = indexes.iter().map(|_| None).collect();
        Self { indexes, checks, decisions }
    }

    /// A subset without checks.
    pub(super) fn nothing() -> Self {
        let (checks, decisions) = (SmallVec::new(), SmallVec::new());
        Self { indexes: Indexes::new(), checks, decisions }
    }

    /// All checks of a set, with their decisions.
    pub(super) fn decided(set: &Set<'a>, decisions: &[Option<Decision>]) -> Self {
        let mut subset = Self::of(set, (0..set.checks().len()).collect());
        subset.decisions = decisions.iter().copied().collect();
        subset
    }

    /// This subset with deferred operations replaced by no-ops; they run after the set commits.
    pub(super) fn without_deferred(mut self) -> Self {
        for check in &mut self.checks {
            if is_deferred(check) {
                *check = check.with_operation(Operation::Charge(Cost::ZERO));
            }
        }
        self
    }

    /// The deferred operations to run now that the set has committed, by the index of their check.
    pub(super) fn deferred<'s>(&self, set: &Set<'s>) -> Vec<(usize, Check<'s>)> {
        let places = self.indexes.iter().enumerate();
        let waiting = places.filter_map(|(place, index)| {
            let check = &set.checks()[*index];
            let is_decided = self.decisions[place].is_some();
            (is_deferred(check) && is_decided && self.admits_at(place))
                .then(|| (*index, check.alone()))
        });
        waiting.collect()
    }

    /// Whether the term of a check admits.
    pub(super) fn admits_at(&self, place: usize) -> bool {
        let own = |at: &usize| !self.checks[*at].is_alternative();
        let start = (0..=place).rev().find(own).unwrap_or(0);
        let end = (place + 1..self.checks.len()).find(own).unwrap_or(self.checks.len());
        self.decisions[start..end].iter().flatten().any(Decision::is_allowed)
    }

    /// This subset reduced to the checks that were finally refused, although their server may have
    /// admitted them.
    pub(super) fn only_refused(mut self, decisions: &[Option<Decision>]) -> Self {
        for (index, decision) in self.indexes.iter().zip(&mut self.decisions) {
            if decisions[*index].is_some_and(|it| it.is_allowed()) {
                *decision = None;
            }
        }
        self
    }

    pub(super) fn copy_decisions(&self, decisions: &mut [Option<Decision>]) {
        for (index, decision) in self.indexes.iter().zip(&self.decisions) {
            decisions[*index] = *decision;
        }
    }
}

/// The same kind of set, with other checks and another id.
pub(super) fn with_id<'s>(whole: &Set<'_>, checks: &'s [Check<'s>], id: ChargeId) -> Set<'s> {
    let set =
        if whole.is_independent() { Set::independent(checks, id) } else { Set::all(checks, id) };
    set.answered_within(whole.within())
}

/// Whether a check is deferred until its set commits: it cannot be refused, and not be undone.
fn is_deferred(check: &Check<'_>) -> bool {
    match check.operation() {
        Operation::Refund(_) => true,
        Operation::Charge(_) => check.limit().counts_failures(),
        _ => false,
    }
}

/// Whether the operation of a check cannot be undone.
pub(super) fn is_final(check: &Check<'_>) -> bool {
    is_deferred(check)
        || matches!(
            check.operation(),
            Operation::Settle { .. } | Operation::Renew(_) | Operation::Reset
        )
}

/// Whether a check takes a place in a queue, which can be undone only while it is the last one.
pub(super) fn takes_queue_place(check: &Check<'_>) -> bool {
    matches!(check.limit().figures(), Parameters::Queue(_))
        && matches!(check.operation(), Operation::Take(_))
}

/// The same check, with a refund replaced by a no-op. Unlike a peek, which a debt refuses, it
/// admits as the refund would.
pub(super) fn without_refund(check: Check<'_>) -> Check<'_> {
    match check.operation() {
        Operation::Refund(_) => check.with_operation(Operation::Charge(Cost::ZERO)),
        _ => check,
    }
}

/// A check that makes any set with these checks be refused, in the slot of the first one.
pub(super) fn refusing<'a>(checks: &[Check<'a>]) -> Option<Check<'a>> {
    Some(Check::new(refusing_limit()?, checks.first()?.key()).cost(Cost::from(2)))
}

/// A limit that never admits the check above.
pub(super) fn refusing_limit() -> Option<&'static Limit> {
    static NEVER: OnceLock<Option<Limit>> = OnceLock::new();
    let limit = || {
        let quota = Quota::new(1, Span::from_secs(1)).ok()?;
        Limit::token_bucket("never", quota).ok()
    };
    NEVER.get_or_init(limit).as_ref()
}
