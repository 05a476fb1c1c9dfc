//! A named quota with its algorithm.

#![allow(
    clippy::inline_always,
    reason = "what every request passes through; see docs/benchmarks.md"
)]

mod digest;
mod error;
mod exact;
mod figures;
mod settings;
mod share;
#[cfg(test)]
mod tests;
mod tier;
mod undo;

use std::borrow::Cow;
use std::sync::Arc;

pub use self::error::LimitError;
pub use self::figures::{BucketFigures, CarryOver, Figures};
pub use self::settings::{Cooldown, Escalation, Slices};

use crate::algorithm::bucket::Bucket;
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::queue::Queue;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::algorithm::{Algorithm, Scene};
use crate::ask::{Receipt, Take};
use crate::calendar::{Calendar, Named};
use crate::decision::Decision;
use crate::quota::{Per, Quota};
use crate::state::State;
use crate::time::{Span, Time};

/// A named quota with its algorithm: what a key is checked against.
///
/// A limit that exists is exact: its arithmetic cannot overflow or round. The
/// constructors refuse quotas that could, and say which nearby one cannot.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    name: Cow<'static, str>,
    name_digest: u64,
    kind: Kind,
    /// The period a fixed window is aligned to, and what the others recover in.
    per: Per,
    /// Whose days and months those periods are, unless they are UTC's.
    named_calendar: Option<Named>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    TokenBucket(Bucket),
    LeakyBucket(Bucket),
    Queue(Queue),
    FixedWindow(FixedWindow),
    SlidingWindow(SlidingWindow),
    SlidingLog(SlidingLog),
    Concurrency(Concurrency),
    Cooldown(Cooldown),
}

impl Limit {
    /// The longest name, in bytes.
    pub const MAX_NAME: usize = 128;
    /// The most units a sliding log, and failures a cooldown, remembers.
    pub const MAX_LOG: u64 = 1_000;
    /// The most slices of a sliding window.
    pub const MAX_SLICES: u32 = 60;
    /// The shortest calendar window. Below it, time would leave the window between working
    /// it out and asking the store.
    pub const SHORTEST_CALENDAR: Span = Span::from_secs(1);

    /// A bucket of `burst` tokens, refilled continuously at the quota's rate. The one to use
    /// when in doubt: a caller that was quiet may burst, and the rate holds over any time.
    pub fn token_bucket(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::build(name, quota.per(), || Ok(Kind::TokenBucket(Self::bucket(quota)?)))
    }

    /// A bucket that fills with each request and leaks at the quota's rate; what would
    /// overflow is refused. Answers exactly as [`Limit::token_bucket`] does.
    pub fn leaky_bucket(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::build(name, quota.per(), || Ok(Kind::LeakyBucket(Self::bucket(quota)?)))
    }

    /// A queue that lets requests out at exactly the quota's rate: each is told how long to
    /// wait for its turn, and refused when `burst` are waiting already.
    pub fn queue(name: impl Into<Cow<'static, str>>, quota: Quota) -> Result<Self, LimitError> {
        Self::build(name, quota.per(), || Ok(Kind::Queue(Queue(Self::queue_of(quota)?))))
    }

    /// So many units per calendar period: simple, cheap, and open to twice the amount
    /// around the edge between two periods. The calendar is UTC's, or that of
    /// [`Limit::in_calendar`].
    ///
    /// A period that is changed while it is being counted, be it in length or in calendar,
    /// takes the count along: nobody gets a second amount by the change before the new period
    /// ends.
    pub fn fixed_window(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::build(name, quota.per(), || {
            let amount = Self::window_amount(quota)?;
            if matches!(quota.per(), Per::Span(span) if span < Self::SHORTEST_CALENDAR) {
                return Err(error::Reason::CalendarTooShort);
            }
            Ok(Kind::FixedWindow(FixedWindow { amount, deepest: amount * 2 }))
        })
    }

    /// A window that moves with time, counted in slices.
    pub fn sliding_window(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
        slices: Slices,
    ) -> Result<Self, LimitError> {
        Self::build(name, quota.per(), || {
            let amount = Self::window_amount(quota)?;
            let window = Self::fixed_length(quota)?;
            let (Slices::Weighted(count) | Slices::Strict(count)) = slices;
            if count == 0 || count > Self::MAX_SLICES {
                return Err(error::Reason::SliceCount { found: count });
            }
            if !window.as_micros().is_multiple_of(u64::from(count)) {
                return Err(error::Reason::SlicesUneven { found: count, window });
            }
            let block = window.as_micros() / u64::from(count);
            let tick = match slices {
                Slices::Strict(_) => block,
                Slices::Weighted(_) => SlidingWindow::finest_tick(amount, block)
                    .ok_or(error::Reason::WindowNotExact { amount, block })?,
            };
            Ok(Kind::SlidingWindow(SlidingWindow::new(amount, window, count, tick)))
        })
    }

    /// Every admission of the last window remembered: exact, with memory in proportion to
    /// the amount, which may be up to [`Limit::MAX_LOG`].
    pub fn sliding_log(
        name: impl Into<Cow<'static, str>>,
        quota: Quota,
    ) -> Result<Self, LimitError> {
        Self::build(name, quota.per(), || {
            let amount = Self::window_amount(quota)?;
            let window = Self::fixed_length(quota)?;
            if amount > Self::MAX_LOG {
                return Err(error::Reason::LogTooLong { amount });
            }
            Ok(Kind::SlidingLog(SlidingLog { amount, window, deepest: amount * 2 }))
        })
    }

    /// At most `slots` in flight; a slot whose holder neither releases nor renews it comes
    /// back after `lease`.
    pub fn concurrency(
        name: impl Into<Cow<'static, str>>,
        slots: u32,
        lease: Span,
    ) -> Result<Self, LimitError> {
        Self::build(name, Per::Span(lease), || {
            if slots == 0 {
                return Err(error::Reason::NoSlots);
            }
            Self::check_span("lease", lease)?;
            Ok(Kind::Concurrency(Concurrency { slots: u64::from(slots), lease }))
        })
    }

    /// Blocked for a while after too many failures, which are reported as charges.
    pub fn cooldown(
        name: impl Into<Cow<'static, str>>,
        cooldown: Cooldown,
    ) -> Result<Self, LimitError> {
        Self::build(name, Per::Span(cooldown.within), || {
            if cooldown.after == 0 || cooldown.after > Self::MAX_LOG {
                return Err(error::Reason::FailureCount { found: cooldown.after });
            }
            Self::check_span("time within which failures count", cooldown.within)?;
            Self::check_span("block", cooldown.block)?;
            if let Some(pending) = cooldown.pending {
                Self::check_span("time that attempts are pending", pending)?;
            }
            if let Some(escalation) = cooldown.escalation {
                Self::check_span("longest block", escalation.max)?;
                if escalation.factor < 2 || escalation.max < cooldown.block {
                    return Err(error::Reason::Escalation { escalation, block: cooldown.block });
                }
            }
            Ok(Kind::Cooldown(cooldown))
        })
    }

    /// The same limit without debt: charges without asking stop at exhausted.
    ///
    /// For limits that never settle afterwards. A caller then recovers within one burst
    /// even if a clock was set back, where a debt would allow two.
    #[must_use]
    pub fn without_debt(self) -> Self {
        let kind = match self.kind {
            Kind::TokenBucket(bucket) => Kind::TokenBucket(bucket.without_debt()),
            Kind::LeakyBucket(bucket) => Kind::LeakyBucket(bucket.without_debt()),
            Kind::Queue(Queue(bucket)) => Kind::Queue(Queue(bucket.without_debt())),
            Kind::FixedWindow(window) => {
                Kind::FixedWindow(FixedWindow { deepest: window.amount, ..window })
            }
            Kind::SlidingWindow(window) => Kind::SlidingWindow(window.without_debt()),
            Kind::SlidingLog(log) => Kind::SlidingLog(SlidingLog { deepest: log.amount, ..log }),
            kind @ (Kind::Concurrency(_) | Kind::Cooldown(_)) => kind,
        };
        Self { kind, ..self }
    }

    /// The same limit with periods from this calendar instead of UTC's: days that begin at the
    /// midnight of a place, and months on the first of them.
    ///
    /// Only fixed windows follow a calendar; any other limit stays as it is.
    #[must_use]
    pub fn in_calendar(self, calendar: Arc<dyn Calendar>) -> Self {
        match self.kind {
            Kind::FixedWindow(_) => Self { named_calendar: Some(Named::new(calendar)), ..self },
            _ => self,
        }
    }

    /// What the limit is called; counters are filed under it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A digest of the name, the same in every process and version: what a store mixes into the
    /// hash of a key, where hashing the name itself with each check would cost more.
    ///
    /// Two names may share a digest; only the names tell limits apart.
    #[inline]
    pub const fn name_digest(&self) -> u64 {
        self.name_digest
    }

    /// The digest that a limit of this name has.
    pub fn digest_of_name(name: &str) -> u64 {
        digest::of(name.as_bytes())
    }

    /// The algorithm, as rule files call it.
    pub const fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::TokenBucket(_) => "token_bucket",
            Kind::LeakyBucket(_) => "leaky_bucket",
            Kind::Queue(_) => "queue",
            Kind::FixedWindow(_) => "fixed_window",
            Kind::SlidingWindow(_) => "sliding_window",
            Kind::SlidingLog(_) => "sliding_log",
            Kind::Concurrency(_) => "concurrency",
            Kind::Cooldown(_) => "cooldown",
        }
    }

    /// The most units there ever are: the burst, the amount, the slots, the failures.
    pub fn capacity(&self) -> u64 {
        self.each().capacity()
    }

    /// The time in which the capacity becomes available again; `None` for calendar months,
    /// whose length differs, and for concurrency, which does not depend on time.
    pub fn recovery(&self) -> Option<Span> {
        match &self.kind {
            Kind::TokenBucket(bucket) | Kind::LeakyBucket(bucket) | Kind::Queue(Queue(bucket)) => {
                Some(bucket.full())
            }
            Kind::SlidingWindow(window) => Some(window.window()),
            Kind::SlidingLog(log) => Some(log.window),
            Kind::Cooldown(cooldown) => Some(cooldown.within),
            Kind::Concurrency(_) => None,
            Kind::FixedWindow(_) => match self.per {
                Per::Span(span) => Some(span),
                Per::Months(_) => None,
            },
        }
    }

    /// The longest delay this limit hands out: how far ahead it promises a turn to a caller
    /// with the patience for it. Zero for limits that only ever answer for now.
    pub fn longest_delay(&self) -> Span {
        match &self.kind {
            Kind::TokenBucket(bucket) | Kind::LeakyBucket(bucket) => bucket.longest_promise(),
            Kind::Queue(queue) => queue.longest_delay(),
            _ => Span::ZERO,
        }
    }

    /// The calendar period this limit has to be handed with each check; `None` unless it is
    /// a fixed window.
    pub const fn calendar(&self) -> Option<Per> {
        match self.kind {
            Kind::FixedWindow(_) => Some(self.per),
            _ => None,
        }
    }

    /// The calendar that knows those periods, if it is not UTC's.
    pub fn named_calendar(&self) -> Option<&dyn Calendar> {
        self.named_calendar.as_ref().map(Named::as_calendar)
    }

    /// Whether units are held and released rather than used up: concurrency.
    pub const fn holds(&self) -> bool {
        matches!(self.kind, Kind::Concurrency(_))
    }

    /// From when on a state of this limit is as good as none, and may be dropped.
    pub fn fresh_at(&self, state: &State) -> Time {
        match state {
            State::Vacant => Time::EPOCH,
            State::Settled { until } => *until,
            state => self.each().fresh_at(state),
        }
    }

    /// How much of the capacity is used at `now`, for a store that has to choose what to forget:
    /// 0 for a state that is fresh, `u16::MAX` for one that has not one unit left, rounded up in
    /// between.
    ///
    /// A blocked cooldown is exhausted, and so is a state that another algorithm left behind or
    /// that a wrong clock made: that is how it would be read. A settlement that is remembered
    /// counts half: forgetting it only lets one settlement count twice.
    pub fn share_used(&self, state: &State, now: Time) -> u16 {
        let now = now.min(Time::MAX);
        match state {
            State::Settled { until } if *until > now => u16::MAX / 2,
            State::Vacant | State::Settled { .. } => 0,
            state => self.each().share_used(state, now),
        }
    }

    /// Whether a take uses anything up: asking a cooldown does only if attempts are pending.
    pub const fn uses_up(&self) -> bool {
        !matches!(self.kind, Kind::Cooldown(Cooldown { pending: None, .. }))
    }

    /// Whether a charge reports failures, which no receipt gives back and no take makes: cooldown.
    pub const fn counts_failures(&self) -> bool {
        matches!(self.kind, Kind::Cooldown(_))
    }

    pub(crate) fn each(&self) -> &dyn Algorithm {
        match &self.kind {
            Kind::TokenBucket(bucket) | Kind::LeakyBucket(bucket) => bucket,
            Kind::Queue(queue) => queue,
            Kind::FixedWindow(window) => window,
            Kind::SlidingWindow(window) => window,
            Kind::SlidingLog(log) => log,
            Kind::Concurrency(concurrency) => concurrency,
            Kind::Cooldown(cooldown) => cooldown,
        }
    }

    /// The bucket that decides for this limit, if it is one.
    #[inline(always)]
    pub(crate) const fn as_bucket(&self) -> Option<&Bucket> {
        match &self.kind {
            Kind::TokenBucket(bucket) | Kind::LeakyBucket(bucket) => Some(bucket),
            _ => None,
        }
    }

    /// Mends and judges a take that nothing was staged before; whether it is allowed.
    #[inline(always)]
    pub(crate) fn judge_plain(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        take: &Take,
        decision: &mut Option<Decision>,
    ) -> bool {
        if let Some(bucket) = self.as_bucket() {
            bucket.mend(state, scene);
            return bucket.judge_into(state, scene.now, take, 0, decision).is_some();
        }
        let algorithm = self.each();
        algorithm.mend(state, scene);
        let judged = algorithm.judge(state, scene, *take, 0);
        *decision = Some(judged);
        judged.is_allowed()
    }

    /// Charges what [`judge_plain`](Self::judge_plain) allowed.
    #[inline(always)]
    pub(crate) fn charge_plain(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        decision: &mut Decision,
    ) {
        if let Some(bucket) = self.as_bucket() {
            bucket.charge_judged(state, scene, decision);
        } else if decision.granted > 0 && self.uses_up() {
            decision.receipt = self.each().charge_take(state, scene, decision.granted);
        }
    }

    /// Tells, of a set that was refused, how a limit that allowed stands without it.
    #[inline(always)]
    pub(crate) fn restate_plain(
        &self,
        state: &State,
        scene: &Scene<'_>,
        decision: &mut Option<Decision>,
    ) {
        let Some(allowed) = decision.filter(super::decision::Decision::is_allowed) else { return };
        if let Some(bucket) = self.as_bucket() {
            // In place: a refused set of buckets took half as long again by way of a return.
            bucket.judge_into(state, scene.now, &Take::PEEK, 0, decision);
        } else {
            *decision = Some(self.each().judge(state, scene, Take::PEEK, 0));
        }
        if let Some(decision) = decision {
            // In debt not even a peek is allowed, but this limit did allow.
            let standing = core::mem::replace(decision, allowed);
            decision.restate(standing);
        }
    }

    /// Extends a hold; `None` if it is gone, or if this limit knows no holds.
    pub(crate) fn renew(
        &self,
        state: &mut State,
        scene: &Scene<'_>,
        receipt: &Receipt,
    ) -> Option<u64> {
        match &self.kind {
            Kind::Concurrency(concurrency) => concurrency.renew(state, scene.now, receipt),
            _ => None,
        }
    }

    fn build(
        name: impl Into<Cow<'static, str>>,
        per: Per,
        kind: impl FnOnce() -> Result<Kind, error::Reason>,
    ) -> Result<Self, LimitError> {
        let name = name.into();
        let kind = if name.is_empty() {
            Err(error::Reason::NameEmpty)
        } else if name.len() > Self::MAX_NAME {
            Err(error::Reason::NameTooLong { bytes: name.len() })
        } else {
            kind()
        };
        match kind {
            Ok(kind) => {
                let name_digest = digest::of(name.as_bytes());
                Ok(Self { name_digest, name, kind, per, named_calendar: None })
            }
            Err(reason) => Err(LimitError::new(&name, reason)),
        }
    }
}
