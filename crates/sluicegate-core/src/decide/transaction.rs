//! The general path of a decision: terms, settlements, rollback.

use core::ops::Range;

use super::{CellRef, Ruling};
use crate::algorithm::EvalContext;
use crate::decision::{Answer, Decision, Refusal};
use crate::operation::{Operation, Take};
use crate::receipt::Receipt;
use crate::set::Set;
use crate::state::State;
use crate::time::{Span, Time};

/// A set and the cells it is decided on.
pub(super) struct SetTransaction<'d> {
    pub(super) set: &'d Set<'d>,
    pub(super) now: Time,
    pub(super) places: &'d [CellRef],
    pub(super) cells: &'d mut [State],
    pub(super) decisions: &'d mut [Option<Decision>],
}

/// Previous states of cells, oldest first, to restore if the set is refused.
type Undo = Vec<(usize, State)>;

impl<'d> SetTransaction<'d> {
    fn context(&self, index: usize) -> EvalContext<'d> {
        EvalContext { now: self.now, set: self.set, index }
    }

    /// Returns whether one cell is addressed by two different limits.
    ///
    /// Their readings of its state could not both be right.
    pub(super) fn is_contradictory(&self) -> bool {
        let checks = self.set.checks.iter().zip(self.places);
        checks.clone().enumerate().any(|(index, (check, place))| {
            let mut earlier = checks.clone().take(index);
            earlier.any(|(other, at)| at.cell == place.cell && other.limit() != check.limit())
        })
    }

    /// Converts the state of callers that changed their tier, before any check is evaluated.
    ///
    /// This defines how state is read, so it is not rolled back, as with repairs.
    pub(super) fn rescale(&mut self) {
        for (check, place) in self.set.checks.iter().zip(self.places) {
            let Operation::Rescale { from, .. } = check.operation else { continue };
            let Some(tiers) = check.limit().tiers(from) else { continue };
            if !self.is_remembered(place.settled) {
                tiers.carry_over(&mut self.cells[place.cell], self.now);
            }
            // From its last arrival on, because the same operation may come with every request for
            // ever.
            let until = self.now + tiers.remembered_for();
            self.cells[place.settled] = State::Settled { until };
        }
    }

    fn is_remembered(&self, settled: usize) -> bool {
        matches!(self.cells[settled], State::Settled { until } if until > self.now)
    }

    /// Decides each term by itself.
    pub(super) fn decide_each(&mut self) -> Ruling {
        let mut ruling = Ruling::Admitted;
        let mut start = 0;
        for term in self.set.terms() {
            let end = start + term.len();
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
        // Whether all terms before the current one admit, and whether the current one does.
        let (mut admitted, mut term_admits) = (true, true);
        for index in range.clone() {
            if index == range.start || !self.set.checks[index].is_alternative() {
                admitted &= term_admits;
                term_admits = false;
            }
            self.decisions[index] = None;
            if !term_admits {
                let decision = self.execute(range.start, index, &mut undo);
                term_admits = decision.is_allowed();
                self.decisions[index] = Some(decision);
            }
        }
        if admitted && term_admits {
            for index in range {
                self.commit(index);
            }
            return Ruling::Admitted;
        }
        for (cell, state) in undo.into_iter().rev() {
            self.cells[cell] = state;
        }
        if range.len() > 1 {
            range.for_each(|index| self.update_usage(index));
        }
        Ruling::Refused
    }

    fn execute(&mut self, first: usize, index: usize, undo: &mut Undo) -> Decision {
        let check = &self.set.checks[index];
        let cell = self.places[index].cell;
        let context = self.context(index);
        // A repair is kept even if the set is refused.
        check.limit().each().repair(&mut self.cells[cell], &context);
        for (_, saved) in undo.iter_mut().filter(|(saved, _)| *saved == cell) {
            check.limit().each().repair(saved, &context);
        }
        let staged = self.staged(first, index);
        let limit = check.limit();
        match check.operation {
            Operation::Take(take) => {
                limit.each().evaluate(&self.cells[cell], &context, take, staged)
            }
            // Unconditional operations apply immediately, so that later checks see them.
            Operation::Charge(cost) => {
                self.save(cell, undo);
                let algorithm = limit.each();
                let state = &mut self.cells[cell];
                let units = algorithm.chargeable_beside(state, &context, cost.units(), staged);
                let receipt =
                    if units > 0 { algorithm.charge(state, &context, units) } else { None };
                Decision { receipt, ..self.usage(index, staged, units) }
            }
            Operation::Refund(cost) => {
                self.save(cell, undo);
                let units = limit.each().refund(&mut self.cells[cell], &context, cost.units());
                self.usage(index, staged, units)
            }
            Operation::Settle { receipt, actual } => {
                self.settle(index, staged, &receipt, actual.units(), undo)
            }
            Operation::Renew(receipt) => {
                self.save(cell, undo);
                match limit.renew(&mut self.cells[cell], &context, &receipt) {
                    Some(units) => self.usage(index, staged, units),
                    None => self.refused(index, staged, Refusal::Lost),
                }
            }
            // Applied before the first check was evaluated.
            Operation::Rescale { .. } => self.usage(index, staged, 0),
            Operation::Reset => {
                self.save(cell, undo);
                self.cells[cell] = State::Vacant;
                self.usage(index, staged, 0)
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
        let CellRef { cell, settled } = self.places[index];
        let remember = check.settles().is_some();
        if remember && self.is_remembered(settled) {
            return self.refused(index, staged, Refusal::Spent);
        }
        if remember && self.now >= receipt.lapses() {
            return self.refused(index, staged, Refusal::Lost);
        }
        self.save(cell, undo);
        let context = self.context(index);
        let algorithm = check.limit().each();
        let Some(units) =
            algorithm.settle(&mut self.cells[cell], &context, receipt, actual, staged)
        else {
            return self.refused(index, staged, Refusal::Lost);
        };
        if remember {
            self.save(settled, undo);
            self.cells[settled] = State::Settled { until: receipt.lapses() };
        }
        self.usage(index, staged, units)
    }

    /// Saves a cell for rollback, unless nothing after it can be refused.
    fn save(&self, cell: usize, undo: &mut Undo) {
        if self.set.checks.len() > 1 {
            undo.push((cell, self.cells[cell].clone()));
        }
    }

    /// Returns the units that earlier takes will charge to the same cell on commit.
    fn staged(&self, first: usize, index: usize) -> u64 {
        let cell = self.places[index].cell;
        (first..index)
            .filter(|earlier| self.places[*earlier].cell == cell)
            .filter_map(|earlier| self.chosen(earlier))
            .map(|decision| decision.granted)
            .sum()
    }

    /// Returns the decision of a take that is charged if the set is admitted.
    fn chosen(&self, index: usize) -> Option<&Decision> {
        let check = &self.set.checks[index];
        let take = matches!(check.operation, Operation::Take(_)) && check.limit().uses_up();
        self.decisions[index].as_ref().filter(|decision| take && decision.is_allowed())
    }

    /// Writes a granted take.
    fn commit(&mut self, index: usize) {
        let Some(granted) = self.chosen(index).map(|decision| decision.granted) else { return };
        if granted > 0 {
            let algorithm = self.set.checks[index].limit().each();
            let context = self.context(index);
            let state = &mut self.cells[self.places[index].cell];
            let receipt = algorithm.charge_take(state, &context, granted);
            if let Some(decision) = &mut self.decisions[index] {
                decision.receipt = receipt;
            }
        }
    }

    /// Replaces a decision of a refused set by the usage without it: nothing was granted.
    fn update_usage(&mut self, index: usize) {
        if self.decisions[index].is_none() {
            return;
        }
        let now = self.usage(index, 0, 0);
        if let Some(decision) = &mut self.decisions[index] {
            decision.update_usage(now);
        }
    }

    /// Returns the usage of a cell as the decision of an unconditional operation.
    fn usage(&self, index: usize, staged: u64, granted: u64) -> Decision {
        let check = &self.set.checks[index];
        let state = &self.cells[self.places[index].cell];
        let peek = check.limit().each().evaluate(state, &self.context(index), Take::PEEK, staged);
        Decision { answer: Answer::Allowed { delay: Span::ZERO }, granted, ..peek }
    }

    fn refused(&self, index: usize, staged: u64, refusal: Refusal) -> Decision {
        Decision { answer: Answer::Refused(refusal), ..self.usage(index, staged, 0) }
    }
}
