//! One limit's answer to one check.

use core::fmt;

use crate::ask::{Ask, Receipt};
use crate::limit::Limit;
use crate::time::Span;

/// One limit's answer: allowed or refused, and how the caller stands with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub(crate) answer: Answer,
    pub(crate) granted: u64,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) reset_after: Span,
    pub(crate) receipt: Option<Receipt>,
}

/// Yes, possibly later; or no, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Go ahead after `delay`, usually none.
    Allowed {
        /// How long to hold the request back.
        delay: Span,
    },
    /// Not now.
    Refused(Refusal),
}

/// Why a limit said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The units are used up.
    Exhausted {
        /// Asking again after exactly this long succeeds if nobody else asks first.
        retry_after: Span,
    },
    /// After too many failures: not before the block ends.
    Blocked {
        /// When the block ends.
        retry_after: Span,
    },
    /// All slots are held; nobody knows when one comes back.
    Busy,
    /// The cost is more than the limit ever holds: this request can never be admitted.
    CostAboveLimit,
    /// The receipt has been settled before; nothing was done.
    Spent,
    /// The hold is gone, released or run out; or the receipt has lapsed: too late to settle.
    Lost,
    /// The store could not be asked, and the check is to be [refused](crate::Outage::Deny) then.
    Unreachable,
}

impl Refusal {
    /// The refusal in one word, for machines.
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

    /// How long to wait before asking again, where that is known and would help.
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
    /// The answer to a check that no state was there for: as its [`Outage`](crate::Outage) says.
    ///
    /// How the caller stands is not known; it is told as untouched.
    pub fn unasked(limit: &Limit, ask: Ask, allowed: bool) -> Self {
        let granted = match ask {
            Ask::Take(take) if allowed => take.most(),
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

    /// The same decision in a set that was refused: nothing was granted or charged.
    #[must_use]
    pub fn withdrawn(self) -> Self {
        Self { granted: 0, receipt: None, ..self }
    }

    /// Corrects a decision of a set that was refused to how the limit stands without it.
    pub(crate) fn restate(&mut self, standing: Self) {
        let answer = match self.answer {
            Answer::Allowed { .. } => Answer::Allowed { delay: Span::ZERO },
            refused @ Answer::Refused(_) => refused,
        };
        *self = Self { answer, ..standing };
    }

    /// Whether the limit said yes.
    pub const fn is_allowed(&self) -> bool {
        matches!(self.answer, Answer::Allowed { .. })
    }

    /// Yes or no, with what belongs to each.
    pub const fn answer(&self) -> Answer {
        self.answer
    }

    /// Why the limit said no; `None` if it said yes.
    pub const fn refusal(&self) -> Option<Refusal> {
        match self.answer {
            Answer::Allowed { .. } => None,
            Answer::Refused(refusal) => Some(refusal),
        }
    }

    /// After a refusal: how long to wait, where that is known and would help.
    ///
    /// Never zero. Waiting exactly so long, with no competitor, succeeds; a microsecond
    /// less does not. (Where one set asks a counter several times: if the checks before this
    /// one are then granted what they were granted now.)
    pub const fn retry_after(&self) -> Option<Span> {
        match self.answer {
            Answer::Allowed { .. } => None,
            Answer::Refused(refusal) => refusal.retry_after(),
        }
    }

    /// How long an allowed request has to be held back; zero for most limits.
    pub const fn delay(&self) -> Span {
        match self.answer {
            Answer::Allowed { delay } => delay,
            Answer::Refused(_) => Span::ZERO,
        }
    }

    /// Units granted; for a settlement, the units that now stand.
    ///
    /// Nothing in a set that was refused, also where this limit alone would have admitted.
    pub const fn granted(&self) -> u64 {
        self.granted
    }

    /// The most units the limit ever holds: its burst, its amount or its slots.
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Whole units left after this decision, rounded down.
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// How long until the caller stands as if it had never asked, rounded up.
    pub const fn reset_after(&self) -> Span {
        self.reset_after
    }

    /// What a later settlement, refund, renewal or release needs; present where something was charged.
    pub const fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }
}
