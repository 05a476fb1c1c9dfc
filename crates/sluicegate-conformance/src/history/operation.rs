//! One call of a store, as the thread that made it saw it.

use sluicegate::{Applied, Check, Decision, Id, Set, Time};

use crate::subject::{Bare, Subject};

/// One call of a store: what was asked, what was answered, and between which tickets.
#[derive(Debug, Clone)]
pub(super) struct Operation<'a> {
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

impl Operation<'_> {
    /// A name for the set of the call that drew this ticket, unlike any other.
    pub(super) fn id(invoked: u64) -> Id {
        // The checks of a set number their receipts in the lowest bits.
        Id::from_bits(u128::from(invoked) << 8)
    }

    /// What `state` would answer at the time of this operation.
    pub(super) fn replay(&self, state: &mut Bare) -> (Applied, Vec<Option<Decision>>) {
        let id = Self::id(self.invoked);
        let set = if self.independent {
            Set::independent(&self.checks, id)
        } else {
            Set::all(&self.checks, id)
        };
        let (ruling, decisions) = state.apply(self.applied.now, &set);
        (Applied::by_store(ruling, self.applied.now), decisions)
    }

    /// Whether `state` gives the answer that was given; it is what comes after it then.
    pub(super) fn fits(&self, state: &mut Bare) -> bool {
        let (applied, decisions) = self.replay(state);
        applied == self.applied && decisions == self.decisions
    }

    /// Whether the store decided at a time that its clock showed during the call.
    pub(super) fn is_timely(&self) -> bool {
        let (earliest, latest) = self.between;
        (earliest..=latest).contains(&self.applied.now)
    }
}
