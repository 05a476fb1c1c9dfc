//! The set of checks of one request.

use crate::check::Check;
use crate::receipt::ChargeId;
use crate::time::Span;

/// The checks of one request, decided in one step: all of its terms or nothing.
///
/// A term is a check and the alternatives that follow it; it admits with the first of them that
/// does.
#[derive(Debug, Clone, Copy)]
pub struct Set<'a> {
    pub(crate) checks: &'a [Check<'a>],
    pub(crate) id: ChargeId,
    pub(crate) independent: bool,
    /// [`FOREVER`], or a deadline; an `Option` would take twice the room.
    within: Span,
}

/// The deadline of a set without one.
const FOREVER: Span = Span::from_micros(u64::MAX);

impl<'a> Set<'a> {
    /// Creates a set that charges all of these checks or none.
    pub const fn all(checks: &'a [Check<'a>], id: ChargeId) -> Self {
        Self { checks, id, independent: false, within: FOREVER }
    }

    /// Creates a set of one check.
    pub const fn one(check: &'a Check<'a>, id: ChargeId) -> Self {
        Self::all(core::slice::from_ref(check), id)
    }

    /// Creates a set whose terms are charged independently of each other.
    ///
    /// This is the behaviour of Envoy's reference rate limit service, for callers that ask for it.
    pub const fn independent(checks: &'a [Check<'a>], id: ChargeId) -> Self {
        Self { checks, id, independent: true, within: FOREVER }
    }

    /// Returns the same kind of set, with other checks.
    #[must_use]
    pub const fn with_checks<'c>(&self, checks: &'c [Check<'c>]) -> Set<'c> {
        Set { checks, id: self.id, independent: self.independent, within: self.within }
    }

    /// Returns the checks in evaluation order.
    pub const fn checks(&self) -> &'a [Check<'a>] {
        self.checks
    }

    /// Returns the terms: each check with the alternatives that follow it.
    pub fn terms(&self) -> impl Iterator<Item = &'a [Check<'a>]> + use<'a> {
        self.checks.chunk_by(|_, next| next.is_alternative())
    }

    /// Returns the id from which its holds and receipts are derived.
    pub const fn id(&self) -> ChargeId {
        self.id
    }

    /// Returns whether each term is charged independently.
    pub const fn is_independent(&self) -> bool {
        self.independent
    }

    /// Returns the set with the time after which its caller gives up.
    ///
    /// It does not affect the decision; a store that may keep its callers waiting uses it as their
    /// deadline.
    #[must_use]
    pub fn answered_within(self, within: Option<Span>) -> Self {
        Self { within: within.unwrap_or(FOREVER), ..self }
    }

    /// Returns the time after which the caller gives up, if one was given.
    pub fn within(&self) -> Option<Span> {
        (self.within != FOREVER).then_some(self.within)
    }
}
