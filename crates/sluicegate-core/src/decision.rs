//! The decision of one limit on one check.

use core::fmt;

use crate::limit::Limit;
use crate::operation::Operation;
use crate::receipt::Receipt;
use crate::time::Span;

/// The decision of one limit: allowed or refused, and the caller's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub(crate) answer: Answer,
    pub(crate) granted: u64,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) reset_after: Span,
    pub(crate) receipt: Option<Receipt>,
}

/// Allowed, possibly after a delay; or refused, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The request may proceed after `delay`, which is usually zero.
    Allowed {
        /// The time to hold the request back.
        delay: Span,
    },
    /// The request is refused for now.
    Refused(Refusal),
}

/// The reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The units are used up.
    Exhausted {
        /// A retry after exactly this time succeeds if there is no competing request.
        retry_after: Span,
    },
    /// Blocked after too many failures, until the block ends.
    Blocked {
        /// The time until the block ends.
        retry_after: Span,
    },
    /// All slots are held, and the time at which one is released is not known.
    Busy,
    /// The cost is more than the limit ever holds: this request can never be admitted.
    CostAboveLimit,
    /// The receipt has already been settled; nothing was done.
    Spent,
    /// The hold was released or expired, or the receipt has lapsed: too late to settle.
    Lost,
    /// The store is unavailable, and the check [fails closed](crate::OnStoreError::Deny).
    Unreachable,
}

impl Refusal {
    /// Returns the refusal as one machine-readable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted { .. } => "exhausted",
            Self::Blocked { .. } => "blocked",
            Self::Busy => "busy",
            Self::CostAboveLimit => "cost_above_limit",
            Self::Spent => "spent",
            Self::Lost => "lost",
            Self::Unreachable => "unreachable",
        }
    }

    /// Returns the time to wait before a retry, where it is known and a retry can succeed.
    pub const fn retry_after(self) -> Option<Span> {
        match self {
            Self::Exhausted { retry_after } | Self::Blocked { retry_after } => Some(retry_after),
            Self::Busy | Self::CostAboveLimit | Self::Spent | Self::Lost | Self::Unreachable => {
                None
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Decision {
    /// Returns the decision on a check without state, for a store that is unavailable.
    ///
    /// It follows the check's [`OnStoreError`](crate::OnStoreError). The caller's usage is not
    /// known; it is reported as zero.
    pub fn unasked(limit: &Limit, operation: Operation, allowed: bool) -> Self {
        let granted = match operation {
            Operation::Take(take) if allowed => take.most(),
            _ => 0,
        };
        let answer = if allowed {
            Answer::Allowed { delay: Span::ZERO }
        } else {
            Answer::Refused(Refusal::Unreachable)
        };
        let capacity = limit.capacity();
        Self {
            answer,
            granted,
            limit: capacity,
            remaining: capacity,
            reset_after: Span::ZERO,
            receipt: None,
        }
    }

    /// Returns the same decision for a set that was refused: nothing granted or charged.
    #[must_use]
    pub fn withdrawn(self) -> Self {
        Self { granted: 0, receipt: None, ..self }
    }

    /// Corrects a decision of a refused set to the usage without it.
    pub(crate) fn update_usage(&mut self, usage: Self) {
        let answer = match self.answer {
            Answer::Allowed { .. } => Answer::Allowed { delay: Span::ZERO },
            refused @ Answer::Refused(_) => refused,
        };
        *self = Self { answer, ..usage };
    }

    /// Returns whether the limit allowed the check.
    pub const fn is_allowed(&self) -> bool {
        matches!(self.answer, Answer::Allowed { .. })
    }

    /// Returns the answer: allowed or refused.
    pub const fn answer(&self) -> Answer {
        self.answer
    }

    /// Returns the reason of a refusal; `None` if allowed.
    pub const fn refusal(&self) -> Option<Refusal> {
        match self.answer {
            Answer::Allowed { .. } => None,
            Answer::Refused(refusal) => Some(refusal),
        }
    }

    /// Returns the time to wait after a refusal, where it is known and a retry can succeed.
    ///
    /// Never zero. A retry after exactly this time succeeds if there is no competing request; a
    /// microsecond earlier it does not. (Where one set uses a counter several times: provided that
    /// the checks before this one are granted the same units again.)
    pub const fn retry_after(&self) -> Option<Span> {
        match self.answer {
            Answer::Allowed { .. } => None,
            Answer::Refused(refusal) => refusal.retry_after(),
        }
    }

    /// Returns how long an allowed request has to be held back; zero for most limits.
    pub const fn delay(&self) -> Span {
        match self.answer {
            Answer::Allowed { delay } => delay,
            Answer::Refused(_) => Span::ZERO,
        }
    }

    /// Returns the units granted; for a settlement, the units charged after it.
    ///
    /// Zero in a set that was refused, even where this limit alone would have admitted.
    pub const fn granted(&self) -> u64 {
        self.granted
    }

    /// Returns the capacity of the limit: its burst, its amount or its slots.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the whole units left after this decision, rounded down.
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Returns the time until the counter has recovered fully, rounded up.
    pub const fn reset_after(&self) -> Span {
        self.reset_after
    }

    /// Returns the receipt for a later settlement, refund, renewal or release.
    ///
    /// Present where something was charged.
    pub const fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }
}
