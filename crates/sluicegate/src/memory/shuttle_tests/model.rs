//! The sequential model: whether some order explains the answers of the threads.

use sluicegate_conformance::history::search::{RecordedCall, linearize};
use sluicegate_conformance::{MapStore, Subject};
use sluicegate_core::{ChargeId, Receipt, Set};

use super::step::{Step, StepResult};

/// A step and its answer.
#[derive(Debug)]
pub(super) struct RecordedStep {
    pub(super) step: Step,
    /// The receipt that each of its checks may refund.
    pub(super) receipts: Vec<Option<Receipt>>,
    pub(super) id: ChargeId,
    pub(super) answer: StepResult,
    pub(super) begun: u64,
    pub(super) ended: u64,
}

impl RecordedCall for RecordedStep {
    fn interval(&self) -> (u64, u64) {
        (self.begun, self.ended)
    }

    fn fits(&self, state: &mut MapStore) -> bool {
        let (checks, applied) = (self.step.checks(&self.receipts), self.answer.applied);
        let (ruling, decisions) = state.apply(applied.now, &Set::all(&checks, self.id));
        ruling == applied.ruling && decisions == self.answer.decisions
    }
}

/// Returns whether some sequential order of the steps gives exactly these answers.
///
/// The order has to respect the order in time of steps that did not overlap.
pub(super) fn is_explained(noted: &[RecordedStep]) -> bool {
    linearize(noted).is_ok()
}
