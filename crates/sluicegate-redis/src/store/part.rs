//! Some of a set's checks, which are asked apart from the others.

use std::sync::OnceLock;

use sluicegate_core::{Ask, Check, Cost, Decision, Figures, Gate, Id, Limit, Quota, Set, Span};
use smallvec::SmallVec;

/// Some of a set's checks, and their decisions.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// Where they are in the set.
    pub(super) indexes: Indexes,
    pub(super) checks: SmallVec<[Check<'a>; 8]>,
    pub(super) decisions: SmallVec<[Option<Decision>; 8]>,
}

/// Indexes of checks, in their order.
pub(super) type Indexes = SmallVec<[usize; 8]>;

impl<'a> Part<'a> {
    pub(super) fn of(set: &Set<'a>, indexes: Indexes) -> Self {
        let checks = indexes.iter().filter_map(|index| set.checks().get(*index).copied()).collect();
        let decisions = indexes.iter().map(|_| None).collect();
        Self { indexes, checks, decisions }
    }

    /// No checks at all.
    pub(super) fn nothing() -> Self {
        let (checks, decisions) = (SmallVec::new(), SmallVec::new());
        Self { indexes: Indexes::new(), checks, decisions }
    }

    /// All of a set, with its decisions.
    pub(super) fn decided(set: &Set<'a>, decisions: &[Option<Decision>]) -> Self {
        let mut part = Self::of(set, (0..set.checks().len()).collect());
        part.decisions = decisions.iter().copied().collect();
        part
    }

    /// The same part, without what waits until the set stands.
    pub(super) fn for_now(mut self) -> Self {
        for check in &mut self.checks {
            if waits(check) {
                *check = check.ask(Ask::Charge(Cost::ZERO));
            }
        }
        self
    }

    /// What has waited for that: which checks of the set, now that it does.
    pub(super) fn waiting<'s>(&self, set: &Set<'s>) -> Vec<(usize, Check<'s>)> {
        let places = self.indexes.iter().enumerate();
        let waiting = places.filter_map(|(place, index)| {
            let check = set.checks().get(*index).filter(|check| waits(check))?;
            let asked = self.decisions.get(place).is_some_and(Option::is_some);
            (asked && self.admits_at(place)).then(|| (*index, check.alone()))
        });
        waiting.collect()
    }

    /// Whether the term that a check belongs to admits.
    pub(super) fn admits_at(&self, place: usize) -> bool {
        let own = |at: &usize| self.checks.get(*at).is_some_and(|check| !check.is_alternative());
        let start = (0..=place).rev().find(own).unwrap_or(0);
        let end = (place + 1..self.checks.len()).find(own).unwrap_or(self.checks.len());
        let enforced =
            |at: &usize| self.checks.get(*at).is_some_and(|check| check.gate() == Gate::Enforce);
        let allows = |at: usize| {
            self.decisions
                .get(at)
                .is_some_and(|decision| decision.is_some_and(|decision| decision.is_allowed()))
        };
        (start..end).filter(enforced).any(allows) || !(start..end).any(|at| enforced(&at))
    }

    /// The same part, of those checks that were refused in the end, whatever its server had said.
    pub(super) fn refused_after_all(mut self, decisions: &[Option<Decision>]) -> Self {
        let stands = |index: &usize| {
            decisions.get(*index).is_some_and(|told| told.is_some_and(|told| told.is_allowed()))
        };
        for (index, decision) in self.indexes.iter().zip(&mut self.decisions) {
            if stands(index) {
                *decision = None;
            }
        }
        self
    }

    pub(super) fn hand_over(&self, decisions: &mut [Option<Decision>]) {
        for (index, decision) in self.indexes.iter().zip(&self.decisions) {
            if let Some(place) = decisions.get_mut(*index) {
                *place = *decision;
            }
        }
    }
}

/// The same kind of set, of other checks.
pub(super) fn like<'s>(whole: &Set<'_>, checks: &'s [Check<'s>]) -> Set<'s> {
    like_named(whole, checks, whole.id())
}

/// The same, with another id.
pub(super) fn like_named<'s>(whole: &Set<'_>, checks: &'s [Check<'s>], id: Id) -> Set<'s> {
    let set =
        if whole.is_independent() { Set::independent(checks, id) } else { Set::all(checks, id) };
    set.answered_within(whole.within())
}

/// Whether a check is asked only when its set stands: it cannot be refused, and could not be undone.
fn waits(check: &Check<'_>) -> bool {
    match check.asks() {
        Ask::Refund(_) => true,
        Ask::Charge(_) => check.limit().counts_failures(),
        _ => false,
    }
}

/// Whether what a check does could not be undone.
pub(super) fn is_final(check: &Check<'_>) -> bool {
    waits(check) || matches!(check.asks(), Ask::Settle { .. } | Ask::Renew(_) | Ask::Reset)
}

/// Whether a check takes a place in a queue, which can be undone only while it is the last one.
pub(super) fn queues(check: &Check<'_>) -> bool {
    matches!(check.limit().figures(), Figures::Queue(_)) && matches!(check.asks(), Ask::Take(_))
}

/// The same check, only asking how things stand if it was to give units back. Unlike a look, which
/// debt refuses, it admits as the refund would.
pub(super) fn without_refund(check: Check<'_>) -> Check<'_> {
    match check.asks() {
        Ask::Refund(_) => check.ask(Ask::Charge(Cost::ZERO)),
        _ => check,
    }
}

/// A check that refuses the set of these checks, wherever their counters are.
pub(super) fn refusing<'a>(checks: &[Check<'a>]) -> Option<Check<'a>> {
    Some(Check::new(never()?, checks.first()?.key()).cost(Cost::from(2)))
}

/// A limit for what is never admitted.
pub(super) fn never() -> Option<&'static Limit> {
    static NEVER: OnceLock<Option<Limit>> = OnceLock::new();
    let limit = || {
        let quota = Quota::new(1, Span::from_secs(1)).ok()?;
        Limit::token_bucket("never", quota).ok()
    };
    NEVER.get_or_init(limit).as_ref()
}
