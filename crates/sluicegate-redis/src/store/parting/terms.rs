//! The terms of a set, and which of their checks are to be asked where.

use sluicegate_core::{Decision, Gate, Set};

use crate::store::part::{Indexes, Part};

/// The terms of a set: in which slots their checks are, and how far each has been asked.
pub(super) struct Terms {
    /// The slot of each check.
    slots: Vec<u16>,
    list: Vec<Term>,
}

/// Checks of which the first that admits is enough, all enforced or all watched; or a whole term whose
/// checks are all in one slot, where the server knows which is which.
struct Term {
    checks: Indexes,
    /// The one that is asked next, if they are in several slots. Otherwise they go together.
    option: Option<usize>,
}

impl Term {
    /// What is asked next.
    fn asked(&self) -> &[usize] {
        match self.option {
            Some(option) => self.checks.get(option..=option).unwrap_or_default(),
            None => &self.checks,
        }
    }
}

/// A part of a set in one slot.
pub(super) struct InSlot<'a> {
    pub(super) slot: u16,
    pub(super) part: Part<'a>,
    /// The numbers of its terms.
    pub(super) terms: Vec<usize>,
}

impl Terms {
    pub(super) fn of(set: &Set<'_>, slot: impl Fn(usize) -> u16) -> Self {
        let checks = set.checks();
        let slots: Vec<u16> = (0..checks.len()).map(slot).collect();
        let mut list = Vec::new();
        for indexes in whole(set) {
            let (start, end) = (indexes.first().copied().unwrap_or(0), indexes.len());
            let end = start + end;
            let own = slots.get(start..end).unwrap_or_default();
            if own.windows(2).all(|pair| matches!(pair, [a, b] if a == b)) {
                list.push(Term { checks: (start..end).collect(), option: None });
            } else {
                for gate in [Gate::Enforce, Gate::Observe] {
                    let of_gate = |index: &usize| {
                        checks.get(*index).is_some_and(|check| check.gate() == gate)
                    };
                    let checks: Indexes = (start..end).filter(of_gate).collect();
                    if !checks.is_empty() {
                        list.push(Term { checks, option: Some(0) });
                    }
                }
            }
        }
        Self { slots, list }
    }

    /// Whether a term has alternatives in several slots.
    pub(super) fn are_split(&self) -> bool {
        self.list.iter().any(|term| term.option.is_some())
    }

    /// The numbers of all.
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.list.len()).collect()
    }

    /// What is to be asked next of these terms, slot by slot.
    pub(super) fn parts<'a>(&self, set: &Set<'a>, pending: &[usize]) -> Vec<InSlot<'a>> {
        let mut found: Vec<(u16, Indexes, Vec<usize>)> = Vec::new();
        for number in pending {
            let Some(term) = self.list.get(*number) else { continue };
            let asked = term.asked();
            let Some(slot) = asked.first().and_then(|first| self.slots.get(*first)) else {
                continue;
            };
            match found.iter_mut().find(|(known, ..)| known == slot) {
                Some((_, indexes, terms)) => {
                    indexes.extend_from_slice(asked);
                    terms.push(*number);
                }
                None => found.push((*slot, Indexes::from_slice(asked), vec![*number])),
            }
        }
        let in_slot = |(slot, mut indexes, terms): (u16, Indexes, Vec<usize>)| {
            indexes.sort_unstable();
            let mut part = Part::of(set, indexes);
            for number in &terms {
                if let Some(place) = self.place(*number, &part)
                    && let Some(check) = part.checks.get_mut(place)
                {
                    // What it is an alternative to is not asked here.
                    *check = check.alone();
                }
            }
            InSlot { slot, part, terms }
        };
        found.into_iter().map(in_slot).collect()
    }

    /// These checks, slot by slot.
    pub(super) fn apart<'a>(&self, set: &Set<'a>, indexes: &[usize]) -> Vec<InSlot<'a>> {
        let mut found: Vec<(u16, Indexes)> = Vec::new();
        for index in indexes {
            let Some(slot) = self.slots.get(*index) else { continue };
            match found.iter_mut().find(|(known, _)| known == slot) {
                Some((_, indexes)) => indexes.push(*index),
                None => found.push((*slot, Indexes::from_slice(&[*index]))),
            }
        }
        let in_slot =
            |(slot, indexes)| InSlot { slot, part: Part::of(set, indexes), terms: vec![] };
        found.into_iter().map(in_slot).collect()
    }

    /// Whether a term admits, by the decisions of a part that it was asked in.
    pub(super) fn admits(&self, number: usize, part: &Part<'_>) -> bool {
        self.place(number, part).is_none_or(|place| part.admits_at(place))
    }

    /// Of each term the check that these decisions say admits is asked first.
    pub(super) fn choose(&mut self, decisions: &[Option<Decision>]) {
        for term in &mut self.list {
            let admits = |index: &usize| {
                decisions.get(*index).is_some_and(|told| told.is_some_and(|told| told.is_allowed()))
            };
            if let Some(option) = &mut term.option
                && let Some(place) = term.checks.iter().position(admits)
            {
                *option = place;
            }
        }
    }

    /// Whether a term has a check left that is to be asked instead of one that refused. Of a term that
    /// is only watched, too: the first that would have admitted is charged.
    pub(super) fn goes_on(&mut self, number: usize, part: &Part<'_>) -> bool {
        let place = self.place(number, part);
        let decision = place.and_then(|place| part.decisions.get(place).copied().flatten());
        let Some(term) = self.list.get_mut(number) else { return false };
        let Some(option) = &mut term.option else { return false };
        if decision.is_none_or(|decision| decision.is_allowed()) || *option + 1 >= term.checks.len()
        {
            return false;
        }
        *option += 1;
        true
    }

    /// Where the first of the checks of a term that are asked now is in a part.
    fn place(&self, number: usize, part: &Part<'_>) -> Option<usize> {
        let first = self.list.get(number)?.asked().first()?;
        part.indexes.iter().position(|index| index == first)
    }
}

/// The terms of a set: each check with the alternatives that follow it.
pub(super) fn whole(set: &Set<'_>) -> Vec<Indexes> {
    let mut terms: Vec<Indexes> = Vec::new();
    for (index, check) in set.checks().iter().enumerate() {
        match terms.last_mut() {
            Some(term) if check.is_alternative() => term.push(index),
            _ => terms.push(Indexes::from_slice(&[index])),
        }
    }
    terms
}
