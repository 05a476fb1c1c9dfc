//! Operations on a limit.

use crate::cost::Cost;
use crate::quota::Quota;
use crate::receipt::{ChargeId, Receipt};
use crate::time::Span;

/// The operation of a check on its counter.
///
/// A [`take`](Operation::Take) may be refused; so may a [`renewal`](Operation::Renew) of a hold
/// that expired and a [`settlement`](Operation::Settle) of a receipt that is already settled. The
/// others always succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Takes units if they are available.
    Take(Take),
    /// Charges unconditionally, up to one capacity into debt, for costs known afterwards.
    Charge(Cost),
    /// Returns units without a receipt, on the caller's word that they were not used.
    ///
    /// The latest charges are refunded first, and never more than is used now: a bucket is full
    /// that much sooner, a count shrinks, the newest stamps of a log are removed. It also repays
    /// debt. Slots and failures are not units that can be returned: nothing happens there. A
    /// cooldown with pending attempts, or with failures that a success clears, treats it as the
    /// report of a success. The decision grants as many whole units as were refunded.
    ///
    /// The refund is not stored: sent twice it refunds twice. A caller with a receipt
    /// [settles](Operation::Settle) it instead. Takes of the same set are charged after it,
    /// wherever in the set it is, so it refunds nothing of them.
    Refund(Cost),
    /// Corrects an earlier charge to its actual cost; 0 refunds it or releases a hold.
    Settle {
        /// The receipt of the charge.
        receipt: Receipt,
        /// The actual cost.
        actual: Cost,
    },
    /// Extends the lease of a concurrency slot.
    Renew(Receipt),
    /// Converts the units used under another quota, after the caller has changed its tier.
    ///
    /// A bucket or a queue stores a time, so under another quota the same *share* of it is used;
    /// after this it is the same *units*, rounded up, and one capacity at most. Limits that count
    /// units keep their count as it is; so does a bucket whose `from` could never have been its
    /// quota. Never refused and grants nothing: it defines how state is read.
    ///
    /// It runs before any check of its set, wherever in the set it is, and is kept if the set is
    /// refused: otherwise the wait of a refusal would be wrong. So it goes into a set in front of
    /// the take, as a requirement of its own.
    Rescale {
        /// The quota that the state was written under.
        from: Quota,
        /// The id of this change of this one counter, so that it is done once.
        ///
        /// It may come with every request from then on: the change is stored, from its last
        /// arrival, for as long as used units can still matter. Another counter, or another
        /// change, needs another id.
        id: ChargeId,
    },
    /// Clears the counter.
    ///
    /// Receipts are not invalidated: drop those of charges that a reset has cleared.
    Reset,
}

impl Operation {
    /// Takes exactly this cost.
    pub const fn acquire(cost: Cost) -> Self {
        Self::Take(Take { least: cost.units(), most: cost.units(), patience: None })
    }

    /// Takes as much as is available, at most `most`; refused below `least`.
    pub fn up_to(most: Cost, least: Cost) -> Self {
        let most = most.max(least);
        Self::Take(Take { least: least.units(), most: most.units(), patience: None })
    }

    /// Takes exactly this cost, now or after a delay of at most `patience`.
    ///
    /// A bucket charges immediately and answers with the delay, which reserves the caller's turn.
    /// Limits that cannot promise a later time refuse as if there were no patience.
    pub const fn wait(cost: Cost, patience: Span) -> Self {
        Self::Take(Take { least: cost.units(), most: cost.units(), patience: Some(patience) })
    }

    /// Takes nothing and reports the usage.
    pub const fn peek() -> Self {
        Self::acquire(Cost::ZERO)
    }
}

/// The units of a take: minimum, maximum, and the longest acceptable delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Take {
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) patience: Option<Span>,
}

impl Take {
    pub(crate) const PEEK: Self = Self { least: 0, most: 0, patience: None };

    pub(crate) const fn with_max_delay(self, patience: Span) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Returns the least that has to be granted.
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// Returns the most that may be granted.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Returns the longest acceptable delay, if one was given.
    pub const fn max_delay(&self) -> Option<Span> {
        self.patience
    }
}
