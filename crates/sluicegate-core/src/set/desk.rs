//! Decides any set, with all the bookkeeping that terms, shadows and settlements need.

use core::ops::Range;

use super::{Place, Ruling};
use crate::algorithm::Scene;
use crate::ask::{Ask, Receipt, Take};
use crate::check::{Gate, Set};
use crate::decision::{Answer, Decision, Refusal};
use crate::state::State;
use crate::time::{Span, Time};

/// Everything one set is decided on.
pub(super) struct Desk<'d> {
    pub(super) set: &'d Set<'d>,
    pub(super) now: Time,
    pub(super) places: &'d [Place],
    pub(super) cells: &'d mut [State],
    pub(super) decisions: &'d mut [Option<Decision>],
}

/// Cells as they were, to be put back if the set is refused; the oldest first.
type Undo = Vec<(usize, State)>;

/// What is known of a term while its checks are asked.
#[derive(Clone, Copy, Default)]
struct Term {
    /// One of its checks may block.
    enforced: bool,
    /// One of those has admitted.
    met: bool,
    /// One of its shadows has. They go by themselves, as the term they stand for would.
    shadow_met: bool,
}

impl Term {
    fn admits(self) -> bool {
        self.met || !self.enforced
    }

    /// Whether a check with this gate is not needed any more.
    fn is_met(self, gate: Gate) -> bool {
        match gate {
            Gate::Enforce => self.met,
            Gate::Observe => self.shadow_met,
        }
    }

    /// Takes down what a check with this gate said.
    fn hear(&mut self, gate: Gate, decision: &Decision) {
        match gate {
            Gate::Enforce => {
                self.enforced = true;
                self.met |= decision.is_allowed();
            }
            Gate::Observe => self.shadow_met |= decision.is_allowed(),
        }
    }
}

impl<'d> Desk<'d> {
    fn scene(&self, index: usize) -> Scene<'d> {
        Scene { now: self.now, set: self.set, index }
    }

    /// Whether one cell is asked under two limits, which could not both be right about it.
    pub(super) fn is_contradictory(&self) -> bool {
        let checks = self.set.checks.iter().zip(self.places);
        checks.clone().enumerate().any(|(index, (check, place))| {
            let mut earlier = checks.clone().take(index);
            earlier.any(|(other, at)| at.cell == place.cell && other.limit() != check.limit())
        })
    }

    /// Carries units over for callers that changed their tier, before anything is asked: this says
    /// how state is to be read, so it is done for good, as mending is.
    pub(super) fn rescale(&mut self) {
        for (check, place) in self.set.checks.iter().zip(self.places) {
            let Ask::Rescale { from, .. } = check.ask else { continue };
            let Some(tiers) = check.limit().tiers(from) else { continue };
            if !self.is_remembered(place.settled) {
                tiers.carry_over(&mut self.cells[place.cell], self.now);
            }
            // From its last arrival on: it may ride with every request for ever.
            let until = self.now + tiers.remembered_for();
            self.cells[place.settled] = State::Settled { until };
        }
    }

    fn is_remembered(&self, settled: usize) -> bool {
        matches!(self.cells[settled], State::Settled { until } if until > self.now)
    }

    /// Decides each term alone.
    pub(super) fn decide_each(&mut self) -> Ruling {
        let checks = self.set.checks;
        let mut ruling = Ruling::Admitted;
        let mut start = 0;
        while start < checks.len() {
            let next = (start + 1..checks.len()).find(|index| !checks[*index].is_alternative());
            let end = next.unwrap_or(checks.len());
            if self.decide(start..end) == Ruling::Refused {
                ruling = Ruling::Refused;
            }
            start = end;
        }
        ruling
    }

    /// Decides the terms in `range`, all or nothing.
    pub(super) fn decide(&mut self, range: Range<usize>) -> Ruling {
        let mut undo = Undo::new();
        let mut admitted = true;
        let mut term = Term::default();
        for index in range.clone() {
            let check = &self.set.checks[index];
            if !check.is_alternative() {
                admitted &= term.admits();
                term = Term::default();
            }
            if term.is_met(check.gate()) {
                self.decisions[index] = None;
                continue;
            }
            let decision = self.ask(range.start, index, &mut undo);
            term.hear(check.gate(), &decision);
            self.decisions[index] = Some(decision);
        }
        if admitted && term.admits() {
            for index in range {
                self.commit(index);
            }
            return Ruling::Admitted;
        }
        for (cell, state) in undo.into_iter().rev() {
            self.cells[cell] = state;
        }
        if range.len() > 1 {
            range.for_each(|index| self.restate(index));
        }
        Ruling::Refused
    }

    fn ask(&mut self, first: usize, index: usize, undo: &mut Undo) -> Decision {
        let check = &self.set.checks[index];
        let cell = self.places[index].cell;
        let scene = self.scene(index);
        // Mended for good, whatever becomes of the set.
        check.limit().each().mend(&mut self.cells[cell], &scene);
        for (_, kept) in undo.iter_mut().filter(|(kept, _)| *kept == cell) {
            check.limit().each().mend(kept, &scene);
        }
        let staged = self.staged(first, index);
        let limit = check.limit();
        match check.ask {
            Ask::Take(take) => limit.each().judge(&self.cells[cell], &scene, take, staged),
            // What is not asked for is done at once, so that later checks see it.
            Ask::Charge(cost) => {
                self.keep(cell, undo);
                let algorithm = limit.each();
                let state = &mut self.cells[cell];
                let units = algorithm.chargeable_beside(state, &scene, cost.units(), staged);
                let receipt = if units > 0 { algorithm.charge(state, &scene, units) } else { None };
                Decision { receipt, ..self.standing(index, staged, units) }
            }
            Ask::Refund(cost) => {
                self.keep(cell, undo);
                let units = limit.each().refund(&mut self.cells[cell], &scene, cost.units());
                self.standing(index, staged, units)
            }
            Ask::Settle { receipt, actual } => {
                self.settle(index, staged, &receipt, actual.units(), undo)
            }
            Ask::Renew(receipt) => {
                self.keep(cell, undo);
                match limit.renew(&mut self.cells[cell], &scene, &receipt) {
                    Some(units) => self.standing(index, staged, units),
                    None => self.refused(index, staged, Refusal::Lost),
                }
            }
            // Done before the first check was asked.
            Ask::Rescale { .. } => self.standing(index, staged, 0),
            Ask::Reset => {
                self.keep(cell, undo);
                self.cells[cell] = State::Vacant;
                self.standing(index, staged, 0)
            }
        }
    }

    fn settle(
        &mut self,
        index: usize,
        staged: u64,
        receipt: &Receipt,
        actual: u64,
        undo: &mut Undo,
    ) -> Decision {
        let check = &self.set.checks[index];
        let Place { cell, settled } = self.places[index];
        let remember = check.settles().is_some();
        if remember && self.is_remembered(settled) {
            return self.refused(index, staged, Refusal::Spent);
        }
        if remember && self.now >= receipt.lapses() {
            return self.refused(index, staged, Refusal::Lost);
        }
        self.keep(cell, undo);
        let scene = self.scene(index);
        let algorithm = check.limit().each();
        let Some(units) = algorithm.settle(&mut self.cells[cell], &scene, receipt, actual, staged)
        else {
            return self.refused(index, staged, Refusal::Lost);
        };
        if remember {
            self.keep(settled, undo);
            self.cells[settled] = State::Settled { until: receipt.lapses() };
        }
        self.standing(index, staged, units)
    }

    /// Remembers a cell as it is, unless nothing can be refused after it.
    fn keep(&self, cell: usize, undo: &mut Undo) {
        if self.set.checks.len() > 1 {
            undo.push((cell, self.cells[cell].clone()));
        }
    }

    /// Units that takes before `index` will be charged to the same cell if the set is admitted.
    fn staged(&self, first: usize, index: usize) -> u64 {
        let cell = self.places[index].cell;
        (first..index)
            .filter(|earlier| self.places[*earlier].cell == cell)
            .filter_map(|earlier| self.chosen(earlier))
            .map(|decision| decision.granted)
            .sum()
    }

    /// The decision of a take that is charged if the set is admitted.
    fn chosen(&self, index: usize) -> Option<&Decision> {
        let check = &self.set.checks[index];
        let take = matches!(check.ask, Ask::Take(_)) && check.limit().uses_up();
        self.decisions[index].as_ref().filter(|decision| take && decision.is_allowed())
    }

    /// Writes what a chosen take was granted.
    fn commit(&mut self, index: usize) {
        let Some(granted) = self.chosen(index).map(|decision| decision.granted) else { return };
        if granted > 0 {
            let algorithm = self.set.checks[index].limit().each();
            let scene = self.scene(index);
            let state = &mut self.cells[self.places[index].cell];
            let receipt = algorithm.charge_take(state, &scene, granted);
            if let Some(decision) = &mut self.decisions[index] {
                decision.receipt = receipt;
            }
        }
    }

    /// Tells of a set that was refused how the limit stands: nothing was granted.
    fn restate(&mut self, index: usize) {
        if self.decisions[index].is_none() {
            return;
        }
        let now = self.standing(index, 0, 0);
        if let Some(decision) = &mut self.decisions[index] {
            decision.restate(now);
        }
    }

    /// How the cell stands now, as the answer to something that was done and not asked.
    fn standing(&self, index: usize, staged: u64, granted: u64) -> Decision {
        let check = &self.set.checks[index];
        let state = &self.cells[self.places[index].cell];
        let peek = check.limit().each().judge(state, &self.scene(index), Take::PEEK, staged);
        Decision { answer: Answer::Allowed { delay: Span::ZERO }, granted, ..peek }
    }

    fn refused(&self, index: usize, staged: u64, refusal: Refusal) -> Decision {
        Decision { answer: Answer::Refused(refusal), ..self.standing(index, staged, 0) }
    }
}
