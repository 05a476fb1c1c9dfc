//! A named quota with its algorithm.

// Long because it is the public API of limits: most lines are constructors with their
// documentation.

#![allow(
    clippy::inline_always,
    reason = "what every request passes through; see docs/benchmarks.md"
)]

mod digest;
mod error;
mod node_share;
mod parameters;
mod precision;
mod rescale;
mod settings;
mod spec;
#[cfg(test)]
mod tests;
mod undo;
mod validate_spec;

use std::borrow::Cow;
use std::sync::Arc;

pub use self::error::LimitError;
pub use self::parameters::{BucketParameters, CarryOver, Parameters};
pub use self::settings::{Cooldown, Escalation, Slices};
pub use self::spec::{Algorithm, Spec};

use crate::algorithm::bucket::Bucket;
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::queue::Queue;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::algorithm::{EvalContext, Evaluator};
use crate::calendar::{Calendar, NamedCalendar};
use crate::quota::{Per, Quota};
use crate::receipt::Receipt;
use crate::state::State;
use crate::time::{Span, Time};

/// A named quota with its algorithm.
///
/// A limit that exists is exact: its arithmetic cannot overflow or round. The constructors reject
/// quotas that could, and suggest a nearby one that cannot.
///
/// ```
/// use sluicegate_core::{Limit, Slices, Span};
///
/// let burst = Limit::token_bucket("api", "100/min burst 20".parse()?)?;
/// let daily = Limit::fixed_window("daily", "1000/day".parse()?)?;
/// let steady = Limit::sliding_window("steady", "100/min".parse()?, Slices::Strict(10))?;
/// let reports = Limit::concurrency("reports", 20, Span::from_secs(60))?;
///
/// let error = Limit::fixed_window("daily", "1000/day burst 50".parse()?).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot make the limit `daily`: a window has no burst; \
///      leave out `burst 50`, or use a token bucket",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Limit {
    name: Cow<'static, str>,
    name_digest: u64,
    kind: LimitParameters,
    spec: Spec,
    /// The calendar of those periods, unless it is UTC.
    named_calendar: Option<NamedCalendar>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LimitParameters {
    TokenBucket(Bucket),
    LeakyBucket(Bucket),
    Queue(Queue),
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    SlidingLog(SlidingLog),
    Concurrency(Concurrency),
    Cooldown(Cooldown),
}

/// Limits are equal if their names and numbers are, however their quotas are written.
impl PartialEq for Limit {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, name_digest, kind, spec: _, named_calendar } = self;
        *name_digest == other.name_digest
            && *name == other.name
            && *kind == other.kind
            && *named_calendar == other.named_calendar
    }
}

impl Eq for Limit {}

impl Limit {
    /// The longest name in bytes.
    pub const MAX_NAME: usize = 128;
    /// The most units in a sliding log, and the most failures in a cooldown.
    pub const MAX_LOG: u64 = 1_000;
    /// The most slices of a sliding window.
    pub const MAX_SLICES: u32 = 60;
    /// The shortest calendar window.
    ///
    /// With a shorter one, the window could end between computing it and reaching the store.
    pub const SHORTEST_CALENDAR: Span = Span::from_secs(1);

    /// Creates a limit from its specification.
    ///
    /// The other constructors are short forms of this one.
    pub fn new(name: impl Into<Cow<'static, str>>, spec: Spec) -> Result<Self, LimitError> {
        let name = name.into();
        let kind = if name.is_empty() {
            Err(error::Reason::NameEmpty)
        } else if name.len() > Self::MAX_NAME {
            Err(error::Reason::NameTooLong { bytes: name.len() })
        } else {
            LimitParameters::of(&spec)
        };
        match kind {
            Ok(kind) => {
                let name_digest = digest::of(name.as_bytes());
                Ok(Self { name_digest, name, kind, spec, named_calendar: None })
            }
            Err(reason) => Err(LimitError::new(&name, reason)),
        }
    }

    /// Creates a bucket of `burst` tokens, refilled continuously at the quota's rate.
    ///
    /// The one to use when in doubt: a caller that was quiet may burst, and the rate holds over
    /// any time.
    pub fn token_bucket(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::new(name, Algorithm::TokenBucket.by(quota))
    }

    /// Creates a bucket that each request fills and that leaks at the quota's rate.
    ///
    /// A request that would overflow it is refused. Its answers are exactly those of
    /// [`Limit::token_bucket`].
    pub fn leaky_bucket(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::new(name, Algorithm::LeakyBucket.by(quota))
    }

    /// Creates a queue that releases requests at exactly the quota's rate.
    ///
    /// Each request gets the delay until its turn, and is refused when `burst` requests are
    /// already waiting.
    pub fn queue(name: impl Into<Cow<'static, str>>, quota: Quota) -> Result<Self, LimitError> {
        Self::new(name, Algorithm::Queue.by(quota))
    }

    /// Creates a counter of units per calendar period.
    ///
    /// Simple and cheap, but it allows twice the amount around the edge between two periods. The
    /// calendar is UTC, or that of [`Limit::in_calendar`].
    ///
    /// When the period changes while it is being counted, in length or in calendar, the count
    /// carries over: no caller gains a second amount by the change before the new period ends.
    pub fn fixed_window(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::new(name, Algorithm::FixedWindow.by(quota))
    }

    /// Creates a window that moves with time, counted in slices.
    pub fn sliding_window(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
        slices: Slices,
    ) -> Result<Self, LimitError> {
        Self::new(name, Algorithm::SlidingWindow.by(quota).with_slices(slices))
    }

    /// Creates a log of every admission in the last window.
    ///
    /// Exact, with memory in proportion to the amount, which may be up to [`Limit::MAX_LOG`].
    pub fn sliding_log(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::new(name, Algorithm::SlidingLog.by(quota))
    }

    /// Creates a limit of `slots` in flight.
    ///
    /// A slot whose holder neither releases nor renews it comes back after `lease`.
    pub fn concurrency(
        name: impl Into<Cow<'static, str>>,
        slots: u32,
        lease: Span,
    ) -> Result<Self, LimitError> {
        Self::new(name, Spec::Slots { slots, lease })
    }

    /// Creates a limit that blocks for a while after too many failures.
    ///
    /// The failures are reported as charges.
    pub fn cooldown(
        name: impl Into<Cow<'static, str>>,
        cooldown: Cooldown,
    ) -> Result<Self, LimitError> {
        Self::new(name, Spec::Cooldown(cooldown))
    }

    /// Returns the limit without debt: unconditional charges stop at exhausted.
    ///
    /// For limits that never settle afterwards. A caller then recovers within one burst even if a
    /// clock was set back, where a debt would allow two.
    #[must_use]
    pub fn without_debt(self) -> Self {
        let kind = self.kind.without_debt();
        Self { kind, spec: self.spec.without_debt(), ..self }
    }

    /// Returns the limit with the periods of this calendar instead of UTC.
    ///
    /// Days then begin at local midnight, and months on their first day. Only fixed windows follow
    /// a calendar; any other limit stays as it is.
    #[must_use]
    pub fn in_calendar(self, calendar: Arc<dyn Calendar>) -> Self {
        match self.kind {
            LimitParameters::FixedWindow(_) => {
                Self { named_calendar: Some(NamedCalendar::new(calendar)), ..self }
            }
            _ => self,
        }
    }

    /// Returns the name, which is part of the identity of its counters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a digest of the name, the same in every process and version.
    ///
    /// Stores mix it into the hash of a key, where hashing the name itself with each check would
    /// cost more. Two names may share a digest; only the names distinguish limits.
    #[inline]
    pub const fn name_digest(&self) -> u64 {
        self.name_digest
    }

    /// Returns the digest of a limit with this name.
    pub fn digest_of_name(name: &str) -> u64 {
        digest::of(name.as_bytes())
    }

    /// Returns the specification that the limit was made from.
    ///
    /// A [share](Self::share_of) has that of the whole limit.
    #[inline]
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the name of the algorithm, as used in rule files and answers.
    pub const fn algorithm(&self) -> &'static str {
        self.spec.as_str()
    }

    /// Returns the quota; `None` for slots and cooldowns.
    pub const fn quota(&self) -> Option<Quota> {
        self.spec.quota()
    }

    /// Returns the capacity: the burst, the amount, the slots, the failures.
    pub fn capacity(&self) -> u64 {
        self.each().capacity()
    }

    /// Returns the time in which the whole capacity becomes available again.
    ///
    /// `None` for calendar months, whose length differs, and for concurrency, which does not
    /// depend on time.
    pub fn recovery(&self) -> Option<Span> {
        match &self.kind {
            LimitParameters::TokenBucket(bucket)
            | LimitParameters::LeakyBucket(bucket)
            | LimitParameters::Queue(Queue(bucket)) => Some(bucket.full()),
            LimitParameters::SlidingWindow(window) => Some(window.window()),
            LimitParameters::SlidingLog(log) => Some(log.window),
            LimitParameters::Cooldown(cooldown) => Some(cooldown.within),
            LimitParameters::Concurrency(_) => None,
            LimitParameters::FixedWindow(window) => match window.per {
                Per::Span(span) => Some(span),
                Per::Months(_) => None,
            },
        }
    }

    /// Returns the longest delay that this limit can grant to a patient caller.
    ///
    /// Zero for limits that cannot promise a later time.
    pub fn longest_delay(&self) -> Span {
        match &self.kind {
            LimitParameters::TokenBucket(bucket) | LimitParameters::LeakyBucket(bucket) => {
                bucket.longest_promise()
            }
            LimitParameters::Queue(queue) => queue.longest_delay(),
            _ => Span::ZERO,
        }
    }

    /// Returns the calendar period that each check has to bring.
    ///
    /// `None` unless the limit is a fixed window.
    pub const fn calendar(&self) -> Option<Per> {
        match &self.kind {
            LimitParameters::FixedWindow(window) => Some(window.per),
            _ => None,
        }
    }

    /// Returns the calendar of those periods, if it is not UTC.
    pub fn named_calendar(&self) -> Option<&dyn Calendar> {
        self.named_calendar.as_ref().map(NamedCalendar::as_calendar)
    }

    /// Returns whether units are held and released rather than used up (concurrency).
    pub const fn holds(&self) -> bool {
        matches!(self.kind, LimitParameters::Concurrency(_))
    }

    /// Returns when a state of this limit is equivalent to none and may be dropped.
    pub fn recovered_at(&self, state: &State) -> Time {
        match state {
            State::Vacant => Time::EPOCH,
            State::Settled { until } => *until,
            state => self.each().recovered_at(state),
        }
    }

    /// Returns the used share of the capacity at `now`, for eviction.
    ///
    /// 0 for a vacant state, `u16::MAX` for one without a single unit left, rounded up in between.
    ///
    /// A blocked cooldown is exhausted, and so is a state written by another algorithm or under a
    /// wrong clock: that is how it would be read. A stored settlement counts half, because
    /// evicting it only allows one settlement to count twice.
    pub fn share_used(&self, state: &State, now: Time) -> u16 {
        let now = now.min(Time::MAX);
        match state {
            State::Settled { until } if *until > now => u16::MAX / 2,
            State::Vacant | State::Settled { .. } => 0,
            state => self.each().share_used(state, now),
        }
    }

    /// Returns whether a take uses units; for a cooldown only if attempts are pending.
    pub const fn uses_up(&self) -> bool {
        !matches!(self.kind, LimitParameters::Cooldown(Cooldown { pending: None, .. }))
    }

    /// Returns whether a charge reports failures, which have no receipt (cooldown).
    pub const fn counts_failures(&self) -> bool {
        matches!(self.kind, LimitParameters::Cooldown(_))
    }

    pub(crate) fn each(&self) -> &dyn Evaluator {
        match &self.kind {
            LimitParameters::TokenBucket(bucket) | LimitParameters::LeakyBucket(bucket) => bucket,
            LimitParameters::Queue(queue) => queue,
            LimitParameters::FixedWindow(window) => window,
            LimitParameters::SlidingWindow(window) => window,
            LimitParameters::SlidingLog(log) => log,
            LimitParameters::Concurrency(concurrency) => concurrency,
            LimitParameters::Cooldown(cooldown) => cooldown,
        }
    }

    /// Returns the bucket of this limit, if it is one.
    #[inline(always)]
    pub(crate) const fn as_bucket(&self) -> Option<&Bucket> {
        match &self.kind {
            LimitParameters::TokenBucket(bucket) | LimitParameters::LeakyBucket(bucket) => {
                Some(bucket)
            }
            _ => None,
        }
    }

    /// Extends a hold; `None` if it is gone, or if this limit has no holds.
    pub(crate) fn renew(
        &self,
        state: &mut State,
        context: &EvalContext<'_>,
        receipt: &Receipt,
    ) -> Option<u64> {
        match &self.kind {
            LimitParameters::Concurrency(concurrency) => {
                concurrency.renew(state, context.now, receipt)
            }
            _ => None,
        }
    }
}
