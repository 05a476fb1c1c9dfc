//! The set of checks that one request owes.

use super::Check;
use crate::ask::Id;
use crate::time::Span;

/// The checks one request owes, decided in one step: all of its terms or nothing.
///
/// A term is a check and the alternatives that follow it; it admits with the first of
/// them that does. Its shadows are a term of their own that never blocks.
#[derive(Debug, Clone, Copy)]
pub struct Set<'a> {
    pub(crate) checks: &'a [Check<'a>],
    pub(crate) id: Id,
    pub(crate) independent: bool,
    /// [`FOREVER`], or how long; as an option it would take twice the room.
    within: Span,
}

/// How long an answer is of use that nobody is in a hurry for.
const FOREVER: Span = Span::from_micros(u64::MAX);

impl<'a> Set<'a> {
    /// All of these checks or nothing.
    pub const fn all(checks: &'a [Check<'a>], id: Id) -> Self {
        Self { checks, id, independent: false, within: FOREVER }
    }

    /// A set of one check.
    pub const fn one(check: &'a Check<'a>, id: Id) -> Self {
        Self::all(core::slice::from_ref(check), id)
    }

    /// Each term charged alone, whatever the others say: the way of Envoy's reference
    /// service, for those who ask for it.
    pub const fn independent(checks: &'a [Check<'a>], id: Id) -> Self {
        Self { checks, id, independent: true, within: FOREVER }
    }

    /// The checks, in the order they are asked.
    pub const fn checks(&self) -> &'a [Check<'a>] {
        self.checks
    }

    /// What its holds and receipts are named after.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// Whether each term is charged alone.
    pub const fn is_independent(&self) -> bool {
        self.independent
    }

    /// After how long nobody waits for the answer any more. It is decided in the same way; a store
    /// that may keep its callers waiting goes by it.
    #[must_use]
    pub fn answered_within(self, within: Option<Span>) -> Self {
        Self { within: within.unwrap_or(FOREVER), ..self }
    }

    /// After how long nobody waits for the answer any more, where that was said.
    pub fn within(&self) -> Option<Span> {
        (self.within != FOREVER).then_some(self.within)
    }
}
