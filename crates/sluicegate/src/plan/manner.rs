//! How checks are put to a store: what is said of all of them together.

use sluicegate_core::{Check, Set, Span};

use crate::asking::fresh_id;

/// What is said of all checks of a plan together; of a lone check, nothing is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// Whether each requirement is charged alone.
    pub(super) independent: bool,
    /// After how long nobody waits for the answer any more.
    pub(super) within: Option<Span>,
}

impl Manner {
    /// All of these checks, or each alone.
    #[inline]
    pub(crate) fn set_of<'a>(self, checks: &'a [Check<'a>]) -> Set<'a> {
        let id = fresh_id();
        let set =
            if self.independent { Set::independent(checks, id) } else { Set::all(checks, id) };
        set.answered_within(self.within)
    }
}
