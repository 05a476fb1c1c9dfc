//! What can be asked of a limit, and the receipt for what was charged.

mod bytes;

use crate::cost::Cost;
use crate::moment::Moment;
use crate::quota::Quota;
use crate::time::{Span, Time};

/// What a check wants from its limit.
///
/// A [`take`](Ask::Take) may be refused; so may a [`renewal`](Ask::Renew) of a hold that ran
/// out and a [`settlement`](Ask::Settle) that was made before. The others always succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Take units if they are there.
    Take(Take),
    /// Charge without asking, up to one capacity into debt: for costs known only afterwards.
    Charge(Cost),
    /// Give units back without a receipt: the caller says that they were not used.
    ///
    /// What was charged last is given back first, and never more than is used now: a bucket is
    /// full that much sooner, a count shrinks, the newest stamps of a log go. Debt is repaid so,
    /// too. Slots and failures are not units that somebody can hand back: nothing happens there. A
    /// cooldown with pending attempts, or with failures that a success clears, takes it as the report
    /// of a success.
    /// The decision grants as many whole units as came back.
    ///
    /// Nobody remembers it: sent twice it gives twice. Who has a receipt [settles](Ask::Settle)
    /// it instead. Takes of the same set are charged after it, wherever in the set it stands, so
    /// it gives back nothing of them.
    Refund(Cost),
    /// Correct an earlier charge to what it really cost; 0 refunds it or releases a hold.
    Settle {
        /// The charge to correct.
        receipt: Receipt,
        /// What it cost in the end.
        actual: Cost,
    },
    /// Keep a concurrency slot for another lease.
    Renew(Receipt),
    /// The caller has changed its tier: carry the units over that it used under another quota.
    ///
    /// A bucket or a queue keeps a moment, so under another quota the same *share* of it is used;
    /// after this it is the same *units*, rounded up, and one capacity at most. Limits that count
    /// units keep their count as it is; so does a bucket whose `from` could never have been its
    /// quota. Never refused and nothing granted: it says how state is to be read.
    ///
    /// It is done before anything else in its set is asked, wherever in it it stands, and stays
    /// done if the set is refused: otherwise the wait that a refusal names would not come true.
    /// So it goes into a set in front of the take, as a requirement of its own.
    Rescale {
        /// The quota that the state was written under.
        from: Quota,
        /// Names this change of this one counter, so that it is done once. It may ride with
        /// each request from then on: it is remembered, from its last arrival, for as long as
        /// anything used can still matter. Another counter, or another change, needs another.
        id: Id,
    },
    /// Forget everything: the caller starts afresh. Receipts are not recalled: drop those of
    /// charges that a reset has forgotten.
    Reset,
}

impl Ask {
    /// Take exactly this cost.
    pub const fn acquire(cost: Cost) -> Self {
        Self::Take(Take { least: cost.units(), most: cost.units(), patience: None })
    }

    /// Take as much as there is, at most `most`, and be refused below `least`.
    pub fn up_to(most: Cost, least: Cost) -> Self {
        let most = most.max(least);
        Self::Take(Take { least: least.units(), most: most.units(), patience: None })
    }

    /// Take exactly this cost, now or after a delay of at most `patience`.
    ///
    /// A bucket charges at once and answers with the delay: the caller's place in line is
    /// kept. Limits that cannot promise a later moment refuse as if there were no patience.
    pub const fn wait(cost: Cost, patience: Span) -> Self {
        Self::Take(Take { least: cost.units(), most: cost.units(), patience: Some(patience) })
    }

    /// Take nothing, learn how things stand.
    pub const fn peek() -> Self {
        Self::acquire(Cost::ZERO)
    }
}

/// Units wanted: at most, at least, and how long they may be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Take {
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) patience: Option<Span>,
}

impl Take {
    pub(crate) const PEEK: Self = Self { least: 0, most: 0, patience: None };

    pub(crate) const fn patient(self, patience: Span) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The least that has to be granted.
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// The most that may be granted.
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// How long the units may be waited for, where that was said.
    pub const fn patience(&self) -> Option<Span> {
        self.patience
    }
}

/// Names one request's set of checks, and with it the slots it holds and the receipts it gets.
///
/// Whoever applies a set makes a new one for it: two sets with one id would share their slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    // Two halves rather than one u128, whose alignment would pad every decision.
    high: u64,
    low: u64,
}

impl Id {
    /// An id of these bits.
    #[allow(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    pub const fn from_bits(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// The bits of this id.
    pub const fn to_bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// The id of the `index`-th check of the set with this id.
    #[must_use]
    pub const fn of_check(self, index: usize) -> Self {
        Self { high: self.high, low: self.low.wrapping_add(index as u64) }
    }
}

/// What one charge was: enough to refund or settle it, to renew or release a hold.
///
/// It belongs to the limit and key that were charged, and says so nowhere: whoever keeps it
/// keeps them with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) id: Id,
    pub(crate) units: u64,
    pub(crate) at: Time,
    pub(crate) until: Moment,
    /// The denominator of the fraction in `until`.
    pub(crate) until_parts: u64,
}

impl Receipt {
    /// Names the charge; a settlement is remembered under it.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// Units charged.
    pub const fn units(&self) -> u64 {
        self.units
    }

    /// The store's time under which the charge was filed.
    pub const fn at(&self) -> Time {
        self.at
    }

    /// A receipt for no units at all, which lapses at `until`. Settling it charges, and only once
    /// however often it is settled: for units that were used up where the store could not see it,
    /// and have come back by then.
    pub const fn for_nothing(id: Id, until: Time) -> Self {
        // As if it had been filed so long before: then this is when it lapses.
        let at = until.as_micros().saturating_sub(Self::SETTLED_WITHIN.as_micros());
        let at = Time::from_micros(at);
        Self { id, units: 0, at, until: Moment::at(until), until_parts: 1 }
    }

    /// From then on there is nothing left to give back.
    pub const fn until(&self) -> Time {
        self.until.ceil()
    }

    /// When exactly there is nothing left to give back, and in which parts of a microsecond that
    /// moment is counted.
    pub const fn exact_end(&self) -> (Moment, u64) {
        (self.until, self.until_parts)
    }

    /// From then on it is too late to settle the charge.
    ///
    /// Long after [`until`](Receipt::until) for a limit that recovers quickly: what was used
    /// beyond the charge is still owed then. A settlement is remembered up to here, so that
    /// it counts once.
    pub fn lapses(&self) -> Time {
        self.until().max(self.at + Self::SETTLED_WITHIN)
    }

    /// How long every charge can be settled: ten minutes.
    pub const SETTLED_WITHIN: Span = Span::from_secs(600);
}
