//! The options that apply to all checks of a plan.

use sluicegate_core::{Check, Set, Span};

use crate::set_id::next_set_id;

/// The options of a plan; a single check has the defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PlanOptions {
    /// Whether each requirement is charged independently.
    pub(super) independent: bool,
    /// The time after which the caller gives up.
    pub(super) within: Option<Span>,
}

impl PlanOptions {
    /// Returns the set of these checks, all or nothing or independent.
    #[inline]
    pub(crate) fn set_of<'a>(self, checks: &'a [Check<'a>]) -> Set<'a> {
        let id = next_set_id();
        let set =
            if self.independent { Set::independent(checks, id) } else { Set::all(checks, id) };
        set.answered_within(self.within)
    }
}
