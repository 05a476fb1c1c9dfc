//! A check: one operation on one counter of a limit.

use crate::cost::Cost;
use crate::limit::Limit;
use crate::operation::{Operation, Take};
use crate::receipt::ChargeId;
use crate::time::{Period, Span, Time};

/// One operation on one counter: a limit, a key, an operation.
///
/// A counter is identified by the limit's name and the key, so two limits keep separate counts for
/// the same key.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    limit: &'a Limit,
    key: &'a [u8],
    pub(crate) operation: Operation,
    alternative: bool,
    /// Whether this is a required take and nothing else; cached because every set reads it.
    plain: bool,
    scope: Scope,
    outage: OnStoreError,
    strict: bool,
    period: Option<Period>,
    delay: Span,
}

/// The sharing of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Counts for this process only.
    Node,
    /// Counts for all processes that share the store.
    #[default]
    Cluster,
}

/// The fallback for a check when the store is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStoreError {
    /// Decide locally, with this process's share of the limit.
    #[default]
    Local,
    /// Allow.
    Allow,
    /// Refuse.
    Deny,
}

impl<'a> Check<'a> {
    /// Creates a check that takes one unit from `limit` for `key`.
    pub fn new<K: AsRef<[u8]> + ?Sized>(limit: &'a Limit, key: &'a K) -> Self {
        Self {
            limit,
            key: key.as_ref(),
            operation: Operation::acquire(Cost::ONE),
            alternative: false,
            plain: true,
            scope: Scope::Cluster,
            outage: OnStoreError::Local,
            strict: false,
            period: None,
            delay: Span::ZERO,
        }
    }

    fn with_shape(self) -> Self {
        let take = matches!(self.operation, Operation::Take(_));
        Self { plain: take && !self.alternative, ..self }
    }

    /// Returns the check with another cost.
    #[must_use]
    pub fn cost(self, cost: Cost) -> Self {
        self.with_operation(Operation::acquire(cost))
    }

    /// Returns the check with another operation.
    #[must_use]
    pub fn with_operation(self, operation: Operation) -> Self {
        Self { operation, ..self }.with_shape()
    }

    /// Returns the check as an alternative to the one before it in the set.
    ///
    /// It runs only if that one refuses, and satisfies the term if it admits: own share, else
    /// borrow; main quota, else grace.
    #[must_use]
    pub fn or_else(self) -> Self {
        Self { alternative: true, ..self }.with_shape()
    }

    /// Returns the check as a requirement of its own, not an alternative.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { alternative: false, ..self }.with_shape()
    }

    /// Returns the check with its calendar window; fixed windows need one.
    #[must_use]
    pub fn within(self, period: Period) -> Self {
        Self { period: Some(period), ..self }
    }

    /// Returns the check with a delay for requests that it admits.
    ///
    /// A soft limit slows requests down where a hard one refuses them. Deciding ignores the delay;
    /// it is applied when the decisions of the set are combined into one verdict.
    #[must_use]
    pub fn delayed(self, delay: Span) -> Self {
        Self { delay, ..self }
    }

    /// Returns the check with another scope.
    ///
    /// Deciding ignores the scope, and so do stores that belong to a single process.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Returns the check with a fallback for an unavailable store.
    #[must_use]
    pub fn if_unreachable(self, outage: OnStoreError) -> Self {
        Self { outage, ..self }
    }

    /// Returns the check with or without the requirement of a replicated charge.
    ///
    /// A strict check is answered only after a replica of the store has its charge, so that no
    /// admission is lost in a failover. A store that cannot confirm this in time counts as
    /// unavailable; a store without replicas ignores the setting.
    #[must_use]
    pub fn strictly(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Returns the same check for another limit.
    #[must_use]
    pub fn put_to<'b>(self, limit: &'b Limit) -> Check<'b>
    where
        'a: 'b,
    {
        Check { limit, ..self }
    }

    /// Returns whether a replica of the store has to confirm the charge.
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns the limit.
    pub const fn limit(&self) -> &'a Limit {
        self.limit
    }

    /// Returns the key.
    pub const fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Returns the operation.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns whether this is an alternative to the check before it.
    pub const fn is_alternative(&self) -> bool {
        self.alternative
    }

    /// Returns the sharing of the counter.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns the fallback for an unavailable store.
    pub const fn outage(&self) -> OnStoreError {
        self.outage
    }

    /// Returns the calendar window, if one was given.
    pub const fn period(&self) -> Option<Period> {
        self.period
    }

    /// Returns the delay of a request that this check admits, on top of the limit's own.
    pub const fn delay_if_admitted(&self) -> Span {
        self.delay
    }

    /// Returns whether this is a plain take from a bucket other than a queue.
    ///
    /// Nearly every check is; [`decide_buckets`](crate::decide_buckets) accepts only these.
    #[inline]
    pub fn takes_from_bucket(&self) -> bool {
        self.plain && self.limit.as_bucket().is_some()
    }

    /// Returns the take if this check is a required take and nothing else.
    #[inline]
    pub(crate) fn plain_take(&self) -> Option<&Take> {
        match &self.operation {
            Operation::Take(take) if self.plain => Some(take),
            _ => None,
        }
    }

    /// Returns whether its calendar window does not contain `now`.
    pub(crate) fn is_stale(&self, now: Time) -> bool {
        self.limit.calendar().is_some() && self.period.is_none_or(|period| !period.contains(now))
    }

    /// Returns the id under which this operation must be stored to be applied only once.
    ///
    /// It is that of the settled receipt or of the change of tier. A hold needs none: once
    /// released it is gone.
    pub fn settles(&self) -> Option<ChargeId> {
        match self.operation {
            Operation::Settle { receipt, .. } if !self.limit.holds() => Some(receipt.id),
            Operation::Rescale { id, .. } if self.limit.has_tiers() => Some(id),
            _ => None,
        }
    }

    /// Returns the check with a take that accepts a delay of up to `patience`.
    #[must_use]
    pub fn with_max_delay(self, patience: Span) -> Self {
        match self.operation {
            Operation::Take(take) => {
                self.with_operation(Operation::Take(take.with_max_delay(patience)))
            }
            _ => self,
        }
    }
}
