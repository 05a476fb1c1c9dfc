//! A check: one question to one limit.

mod set;

pub use self::set::Set;

use crate::ask::{Ask, Id, Take};
use crate::cost::Cost;
use crate::limit::Limit;
use crate::time::{Period, Span, Time};

/// One question: this limit, this key, this cost.
///
/// The counter it meets is filed under the limit's name and the key together, so two
/// limits asked about one key keep separate counts.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    limit: &'a Limit,
    key: &'a [u8],
    pub(crate) ask: Ask,
    gate: Gate,
    alternative: bool,
    /// Nothing but a take that has to admit; kept at hand because every set is asked for it.
    plain: bool,
    scope: Scope,
    outage: Outage,
    strict: bool,
    period: Option<Period>,
    delay: Span,
}

/// Whose count it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// This process'.
    Node,
    /// That of all who share the store.
    #[default]
    Cluster,
}

/// What becomes of a check that cannot be put to the store because that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outage {
    /// It is answered by this process alone, which has its share of the limit.
    #[default]
    Local,
    /// It is allowed.
    Allow,
    /// It is refused.
    Deny,
}

/// Whether a check may block the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gate {
    /// A refusal refuses the whole set.
    #[default]
    Enforce,
    /// Shadow: never blocks; charged if the set is admitted and it would itself have admitted. Among
    /// its alternatives it is as any other: see [`Check::or_else`].
    Observe,
}

impl<'a> Check<'a> {
    /// Asks `limit` for one unit on behalf of `key`.
    pub fn new<K: AsRef<[u8]> + ?Sized>(limit: &'a Limit, key: &'a K) -> Self {
        Self {
            limit,
            key: key.as_ref(),
            ask: Ask::acquire(Cost::ONE),
            gate: Gate::Enforce,
            alternative: false,
            plain: true,
            scope: Scope::Cluster,
            outage: Outage::Local,
            strict: false,
            period: None,
            delay: Span::ZERO,
        }
    }

    fn with_shape_told(self) -> Self {
        let take = matches!(self.ask, Ask::Take(_));
        Self { plain: take && self.gate == Gate::Enforce && !self.alternative, ..self }
    }

    /// The same check for another cost.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        self.ask(Ask::acquire(cost))
    }

    /// The same check asking for something else.
    #[must_use]
    pub fn ask(self, ask: Ask) -> Self {
        Self { ask, ..self }.with_shape_told()
    }

    /// The same check as a shadow: it counts and reports, and never blocks.
    #[must_use]
    pub fn observed(self) -> Self {
        Self { gate: Gate::Observe, ..self }.with_shape_told()
    }

    /// The same check as an alternative to the one before it in the set: asked only if that
    /// one refuses, and enough if it admits. Own share, else borrow; main quota, else grace.
    ///
    /// A shadow is an alternative to the shadows before it, and a check that may block to those
    /// that may: neither takes notice of the other.
    #[must_use]
    pub fn or_else(self) -> Self {
        Self { alternative: true, ..self }.with_shape_told()
    }

    /// The same check as a requirement of its own, no alternative to the one before it.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { alternative: false, ..self }.with_shape_told()
    }

    /// The same check with the calendar window it falls into; fixed windows need one.
    #[must_use]
    pub fn within(self, period: Period) -> Self {
        Self { period: Some(period), ..self }
    }

    /// The same check, and if it is the one that admits, the request is to be held back this
    /// long: a soft limit slows down where a hard one refuses.
    ///
    /// Deciding takes no notice: it is for whoever makes one answer of the set's decisions.
    #[must_use]
    pub fn delayed(self, delay: Span) -> Self {
        Self { delay, ..self }
    }

    /// The same check with a count of this process, or of all who share the store.
    ///
    /// Deciding takes no notice of it, nor do stores that only one process has.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// The same check, and what becomes of it while the store is not there.
    #[must_use]
    pub fn if_unreachable(self, outage: Outage) -> Self {
        Self { outage, ..self }
    }

    /// The same check, which is answered only when a copy of the store has it too: nothing that was
    /// admitted is forgotten when the copy takes the store's place. A store that cannot have that said
    /// in time counts as one that is not there; one that has no copies takes no notice.
    #[must_use]
    pub fn strictly(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// The same question, put to another limit.
    #[must_use]
    pub fn put_to<'b>(self, limit: &'b Limit) -> Check<'b>
    where
        'a: 'b,
    {
        Check { limit, ..self }
    }

    /// Whether a copy of the store has to have it too.
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// The limit that is asked.
    pub const fn limit(&self) -> &'a Limit {
        self.limit
    }

    /// On whose behalf.
    pub const fn key(&self) -> &'a [u8] {
        self.key
    }

    /// For what.
    pub const fn asks(&self) -> Ask {
        self.ask
    }

    /// Whether a refusal blocks.
    pub const fn gate(&self) -> Gate {
        self.gate
    }

    /// Whether this is an alternative to the check before it.
    pub const fn is_alternative(&self) -> bool {
        self.alternative
    }

    /// Whose count it is.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// What becomes of it while the store is not there.
    pub const fn outage(&self) -> Outage {
        self.outage
    }

    /// The calendar window handed in.
    pub const fn period(&self) -> Option<Period> {
        self.period
    }

    /// How long a request is to be held back that this check admits, on top of what its limit says.
    pub const fn delay_if_admitted(&self) -> Span {
        self.delay
    }

    /// Whether this is a plain take from a bucket, of any kind but a queue: what nearly every
    /// check is, and what [`decide_alone`](crate::decide_alone) may be asked.
    #[inline]
    pub fn takes_from_bucket(&self) -> bool {
        self.plain && self.limit.as_bucket().is_some()
    }

    /// What is taken, if this check is nothing but a take that has to admit.
    #[inline]
    pub(crate) fn plain_take(&self) -> Option<&Take> {
        match &self.ask {
            Ask::Take(take) if self.plain => Some(take),
            _ => None,
        }
    }

    /// Whether this check is nothing but a take that has to admit.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether the calendar window it was handed is not the one that `now` falls into.
    pub(crate) fn is_stale(&self, now: Time) -> bool {
        self.limit.calendar().is_some() && self.period.is_none_or(|period| !period.contains(now))
    }

    /// The receipt whose settlement, or the change of tier that, has to be remembered, so that
    /// it counts once even if it arrives twice. A hold needs none: once released it is gone.
    pub fn settles(&self) -> Option<Id> {
        match self.ask {
            Ask::Settle { receipt, .. } if !self.limit.holds() => Some(receipt.id),
            Ask::Rescale { id, .. } if self.limit.has_tiers() => Some(id),
            _ => None,
        }
    }

    /// The same check, willing to be held back for up to `patience`.
    #[must_use]
    pub fn patient(self, patience: Span) -> Self {
        match self.ask {
            Ask::Take(take) => self.ask(Ask::Take(take.patient(patience))),
            _ => self,
        }
    }
}
