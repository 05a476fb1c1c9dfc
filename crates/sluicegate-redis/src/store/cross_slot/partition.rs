//! The terms of a set, and the slots that their checks are sent to.

use sluicegate_core::{Decision, Set};

use crate::store::subset::{Indexes, Subset};

/// The terms of a set: the slots of their checks, and which alternative is next.
pub(super) struct Partition {
    /// The slot of each check.
    slots: Vec<u16>,
    list: Vec<SlotTerm>,
}

/// Checks of which the first that admits is enough; or a whole
/// term whose checks are in one slot, where the server handles the alternatives.
struct SlotTerm {
    checks: Indexes,
    /// The alternative to send next, if they are in several slots. Otherwise they are sent
    /// together.
    option: Option<usize>,
}

impl SlotTerm {
    /// The checks to send next.
    fn next_checks(&self) -> &[usize] {
        match self.option {
            Some(option) => &self.checks[option..=option],
            None => &self.checks,
        }
    }
}

/// A subset of a set in one slot.
pub(super) struct SlotSubset<'a> {
    pub(super) slot: u16,
    pub(super) subset: Subset<'a>,
    /// The numbers of its terms.
    pub(super) terms: Vec<usize>,
}

impl Partition {
    pub(super) fn of(set: &Set<'_>, slot: impl Fn(usize) -> u16) -> Self {
        let slots: Vec<u16> = (0..set.checks().len()).map(slot).collect();
        let mut list = Vec::new();
        for indexes in whole(set) {
            let in_one_slot = indexes.windows(2).all(|pair| slots[pair[0]] == slots[pair[1]]);
            list.push(SlotTerm { checks: indexes, option: (!in_one_slot).then_some(0) });
        }
        Self { slots, list }
    }

    /// Whether a term has alternatives in several slots.
    pub(super) fn are_split(&self) -> bool {
        self.list.iter().any(|term| term.option.is_some())
    }

    /// The numbers of all terms.
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.list.len()).collect()
    }

    /// The next checks of these terms, by slot.
    pub(super) fn next_subsets<'a>(&self, set: &Set<'a>, pending: &[usize]) -> Vec<SlotSubset<'a>> {
        let mut found: Vec<(u16, Indexes, Vec<usize>)> = Vec::new();
        for number in pending {
            let next_checks = self.list[*number].next_checks();
            let slot = self.slots[next_checks[0]];
            match found.iter_mut().find(|(known, ..)| *known == slot) {
                Some((_, indexes, terms)) => {
                    indexes.extend_from_slice(next_checks);
                    terms.push(*number);
                }
                None => found.push((slot, Indexes::from_slice(next_checks), vec![*number])),
            }
        }
        let in_slot = |(slot, mut indexes, terms): (u16, Indexes, Vec<usize>)| {
            indexes.sort_unstable();
            let mut subset = Subset::of(set, indexes);
            for number in &terms {
                if let Some(place) = self.place(*number, &subset) {
                    // The checks before it in the term are not in this call.
                    subset.checks[place] = subset.checks[place].alone();
                }
            }
            SlotSubset { slot, subset, terms }
        };
        found.into_iter().map(in_slot).collect()
    }

    /// These checks, by slot.
    pub(super) fn by_slot<'a>(&self, set: &Set<'a>, indexes: &[usize]) -> Vec<SlotSubset<'a>> {
        let mut found: Vec<(u16, Indexes)> = Vec::new();
        for index in indexes {
            let slot = self.slots[*index];
            match found.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, indexes)) => indexes.push(*index),
                None => found.push((slot, Indexes::from_slice(&[*index]))),
            }
        }
        let in_slot =
            |(slot, indexes)| SlotSubset { slot, subset: Subset::of(set, indexes), terms: vec![] };
        found.into_iter().map(in_slot).collect()
    }

    /// Whether a term admits, by the decisions of the subset that it was sent in.
    pub(super) fn admits(&self, number: usize, subset: &Subset<'_>) -> bool {
        self.place(number, subset).is_none_or(|place| subset.admits_at(place))
    }

    /// Starts each term with the check that these decisions admit.
    pub(super) fn start_with_admitting(&mut self, decisions: &[Option<Decision>]) {
        for term in &mut self.list {
            let admits = |index: &usize| decisions[*index].is_some_and(|it| it.is_allowed());
            if let Some(option) = &mut term.option
                && let Some(place) = term.checks.iter().position(admits)
            {
                *option = place;
            }
        }
    }

    /// Advances a refused term to its next alternative. Returns whether there is one.
    pub(super) fn advance(&mut self, number: usize, subset: &Subset<'_>) -> bool {
        let place = self.place(number, subset);
        let decision = place.and_then(|place| subset.decisions[place]);
        let term = &mut self.list[number];
        let Some(option) = &mut term.option else { return false };
        if decision.is_none_or(|decision| decision.is_allowed()) || *option + 1 >= term.checks.len()
        {
            return false;
        }
        *option += 1;
        true
    }

    /// The position in a subset of the first check of a term that is sent now.
    fn place(&self, number: usize, subset: &Subset<'_>) -> Option<usize> {
        let first = self.list[number].next_checks()[0];
        subset.indexes.iter().position(|index| *index == first)
    }
}

/// The terms of a set: each check with the alternatives that follow it.
pub(super) fn whole(set: &Set<'_>) -> Vec<Indexes> {
    let mut indexes = 0..set.checks().len();
    set.terms().map(|term| indexes.by_ref().take(term.len()).collect()).collect()
}
