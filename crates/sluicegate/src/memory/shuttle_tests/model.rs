//! The sequential model: whether some order explains the answers of the threads.

use sluicegate_core::{CellRef, ChargeId, Limit, Receipt, Set, State, decide};

use super::keys::Key;
use super::step::{Step, StepResult};

/// A step and its answer.
#[derive(Debug)]
pub(super) struct RecordedStep {
    pub(super) step: Step,
    /// The receipt that each of its checks may refund.
    pub(super) receipts: Vec<Option<Receipt>>,
    pub(super) id: ChargeId,
    pub(super) answer: StepResult,
    pub(super) begun: usize,
    pub(super) ended: usize,
}

#[derive(PartialEq)]
enum CellName {
    Counter(&'static Limit, Key),
    Receipt(ChargeId),
}

/// Returns whether some sequential order of the steps gives exactly these answers.
///
/// The order has to respect the order in time of steps that did not overlap.
pub(super) fn is_explained(noted: &[RecordedStep]) -> bool {
    let mut names = Vec::new();
    let steps: Vec<_> = noted.iter().map(|noted| (noted, places(noted, &mut names))).collect();
    let states = vec![State::Vacant; names.len()];
    let left: Vec<_> = steps.iter().map(|(noted, places)| (*noted, &places[..])).collect();
    can_continue(&states, &left)
}

fn places(noted: &RecordedStep, names: &mut Vec<CellName>) -> Vec<CellRef> {
    let mut slot = |name| {
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    };
    let asked = noted.step.checks.iter().zip(noted.step.checks(&noted.receipts));
    let places = asked.map(|(asked, check)| {
        let (limit, key) = asked.counter();
        let place = CellRef::cell(slot(CellName::Counter(limit, key)));
        match check.settles() {
            Some(receipt) => place.remembered_in(slot(CellName::Receipt(receipt))),
            None => place,
        }
    });
    places.collect()
}

fn can_continue(states: &[State], left: &[(&RecordedStep, &[CellRef])]) -> bool {
    let Some(first_end) = left.iter().map(|(noted, _)| noted.ended).min() else { return true };
    (0..left.len()).any(|index| {
        let (noted, places) = left[index];
        if noted.begun > first_end {
            return false;
        }
        let checks = noted.step.checks(&noted.receipts);
        let mut states = states.to_vec();
        let mut decisions = vec![None; checks.len()];
        let set = Set::all(&checks, noted.id);
        let ruling = decide(&set, noted.answer.applied.now, places, &mut states, &mut decisions);
        if ruling != noted.answer.applied.ruling || decisions != noted.answer.decisions {
            return false;
        }
        let mut left = left.to_vec();
        left.remove(index);
        can_continue(&states, &left)
    })
}
