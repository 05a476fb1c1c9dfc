//! The numbers of a limit, computed from its specification.

use super::error::Reason;
use super::settings::{Cooldown, Slices};
use super::spec::{Algorithm, Spec};
use super::{Limit, LimitParameters};
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::queue::Queue;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::quota::{Per, Quota};
use crate::time::Span;

impl LimitParameters {
    /// Returns the numbers of a specification, or the reason why it cannot be exact.
    pub(super) fn of(spec: &Spec) -> Result<Self, Reason> {
        match *spec {
            Spec::Quota { algorithm, quota, slices, debt } => {
                let kind = Self::of_quota(algorithm, quota, slices)?;
                Ok(if debt { kind } else { kind.without_debt() })
            }
            Spec::Slots { slots: 0, .. } => Err(Reason::NoSlots),
            Spec::Slots { slots, lease } => {
                Limit::check_span("lease", lease)?;
                Ok(Self::Concurrency(Concurrency { slots: u64::from(slots), lease }))
            }
            Spec::Cooldown(cooldown) => Self::of_cooldown(cooldown),
        }
    }

    fn of_quota(algorithm: Algorithm, quota: Quota, slices: Slices) -> Result<Self, Reason> {
        Ok(match algorithm {
            Algorithm::TokenBucket => Self::TokenBucket(Limit::bucket(quota)?),
            Algorithm::LeakyBucket => Self::LeakyBucket(Limit::bucket(quota)?),
            Algorithm::Queue => Self::Queue(Queue(Limit::queue_of(quota)?)),
            Algorithm::FixedWindow => {
                let amount = Limit::window_amount(quota)?;
                if matches!(quota.per(), Per::Span(span) if span < Limit::SHORTEST_CALENDAR) {
                    return Err(Reason::CalendarTooShort);
                }
                Self::FixedWindow(FixedWindow { amount, deepest: amount * 2, per: quota.per() })
            }
            Algorithm::SlidingWindow => Self::of_sliding_window(quota, slices)?,
            Algorithm::SlidingLog => {
                let amount = Limit::window_amount(quota)?;
                let window = Limit::fixed_length(quota)?;
                if amount > Limit::MAX_LOG {
                    return Err(Reason::LogTooLong { amount });
                }
                Self::SlidingLog(SlidingLog { amount, window, deepest: amount * 2 })
            }
        })
    }

    fn of_sliding_window(quota: Quota, slices: Slices) -> Result<Self, Reason> {
        let amount = Limit::window_amount(quota)?;
        let window = Limit::fixed_length(quota)?;
        let (Slices::Weighted(count) | Slices::Strict(count)) = slices;
        if count == 0 || count > Limit::MAX_SLICES {
            return Err(Reason::SliceCount { found: count });
        }
        if !window.as_micros().is_multiple_of(u64::from(count)) {
            return Err(Reason::SlicesUneven { found: count, window });
        }
        let block = window.as_micros() / u64::from(count);
        let tick = match slices {
            Slices::Strict(_) => block,
            Slices::Weighted(_) => SlidingWindow::finest_tick(amount, block)
                .ok_or(Reason::WindowNotExact { amount, block })?,
        };
        Ok(Self::SlidingWindow(SlidingWindow::new(amount, window, count, tick)))
    }

    fn of_cooldown(cooldown: Cooldown) -> Result<Self, Reason> {
        let span = |name, span: Span| Limit::check_span(name, span);
        if cooldown.after == 0 || cooldown.after > Limit::MAX_LOG {
            return Err(Reason::FailureCount { found: cooldown.after });
        }
        span("time within which failures count", cooldown.within)?;
        span("block", cooldown.block)?;
        if let Some(pending) = cooldown.pending {
            span("time that attempts are pending", pending)?;
        }
        if let Some(escalation) = cooldown.escalation {
            span("longest block", escalation.max)?;
            if escalation.factor < 2 || escalation.max < cooldown.block {
                return Err(Reason::Escalation { escalation, block: cooldown.block });
            }
        }
        Ok(Self::Cooldown(cooldown))
    }

    /// Returns the numbers without debt.
    pub(super) fn without_debt(self) -> Self {
        match self {
            Self::TokenBucket(bucket) => Self::TokenBucket(bucket.without_debt()),
            Self::LeakyBucket(bucket) => Self::LeakyBucket(bucket.without_debt()),
            Self::Queue(Queue(bucket)) => Self::Queue(Queue(bucket.without_debt())),
            Self::FixedWindow(window) => {
                Self::FixedWindow(FixedWindow { deepest: window.amount, ..window })
            }
            Self::SlidingWindow(window) => Self::SlidingWindow(window.without_debt()),
            Self::SlidingLog(log) => Self::SlidingLog(SlidingLog { deepest: log.amount, ..log }),
            kind @ (Self::Concurrency(_) | Self::Cooldown(_)) => kind,
        }
    }
}
