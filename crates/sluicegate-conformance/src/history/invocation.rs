//! One call of a store, as recorded by its thread.

use sluicegate::{Applied, ChargeId, Check, Decision, Set, Time};

use super::search::RecordedCall;
use crate::subject::{MapStore, Subject};

/// One call of a store: the set, the answer, and the tickets around it.
#[derive(Debug, Clone)]
pub(super) struct Invocation<'a> {
    pub(super) thread: usize,
    /// The ticket drawn before the call.
    pub(super) invoked: u64,
    /// The ticket drawn after it.
    pub(super) returned: u64,
    /// The clock's time before the call and after it.
    pub(super) between: (Time, Time),
    pub(super) checks: Vec<Check<'a>>,
    pub(super) independent: bool,
    pub(super) applied: Applied,
    pub(super) decisions: Vec<Option<Decision>>,
}

impl Invocation<'_> {
    /// Returns a set id that is unique to the call with this ticket.
    pub(super) fn id(invoked: u64) -> ChargeId {
        // The checks of a set number their receipts in the lowest bits.
        ChargeId::from_bits(u128::from(invoked) << 8)
    }

    /// Returns the answer of `state` at the time of this operation.
    pub(super) fn replay(&self, state: &mut MapStore) -> (Applied, Vec<Option<Decision>>) {
        let id = Self::id(self.invoked);
        let set = if self.independent {
            Set::independent(&self.checks, id)
        } else {
            Set::all(&self.checks, id)
        };
        let (ruling, decisions) = state.apply(self.applied.now, &set);
        (Applied::by_store(ruling, self.applied.now), decisions)
    }

    /// Returns whether the store decided at a time that its clock had during the call.
    pub(super) fn is_timely(&self) -> bool {
        let (earliest, latest) = self.between;
        (earliest..=latest).contains(&self.applied.now)
    }
}

impl RecordedCall for Invocation<'_> {
    fn interval(&self) -> (u64, u64) {
        (self.invoked, self.returned)
    }

    fn fits(&self, state: &mut MapStore) -> bool {
        let (applied, decisions) = self.replay(state);
        applied == self.applied && decisions == self.decisions
    }
}
