//! The JSON format of the vectors: limits, steps, and expected answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One file of vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorFile {
    /// The subject of the file, in a sentence or two.
    pub about: String,
    /// The cases; each starts with vacant cells.
    pub cases: Vec<Case>,
}

/// A case: limits, and steps applied to them in order, starting with every cell vacant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The property that must hold, such as `refuses_one_past_burst`.
    pub name: String,
    /// The limits by the handle that checks use for them.
    pub limits: BTreeMap<String, LimitSpec>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A limit: its name (which together with a key identifies a cell) and its algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSpec {
    /// The name; two limits of the same name read the same cells.
    pub name: String,
    /// The algorithm with its parameters.
    pub algorithm: AlgorithmSpec,
}

/// An algorithm with its parameters; all times are whole microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AlgorithmSpec {
    /// Tokens refill continuously up to a burst.
    TokenBucket(BucketSpec),
    /// The same meter seen from the other side; identical in every answer.
    LeakyBucket(BucketSpec),
    /// A leaky bucket that delays; `burst` is the number of places in the queue and may be 0.
    Queue(BucketSpec),
    /// A count per period; each check hands in the period.
    FixedWindow {
        /// Units per period.
        amount: u64,
        /// The nominal length of the period; 0 when periods are irregular (months).
        period_us: u64,
        /// Whether charges may go one capacity beyond exhausted.
        debt: bool,
    },
    /// Counts per block of a sliding window.
    SlidingWindow {
        /// Units per window.
        amount: u64,
        /// The length of the window.
        period_us: u64,
        /// The number of blocks in the window; divides `period_us`.
        slices: u64,
        /// Whether the oldest block counts in full instead of by its share.
        strict: bool,
        /// Whether charges may go one capacity beyond exhausted.
        debt: bool,
    },
    /// Every grant with its time.
    SlidingLog {
        /// Units per window.
        amount: u64,
        /// The length of the window.
        period_us: u64,
        /// Whether charges may go one capacity beyond exhausted.
        debt: bool,
    },
    /// Slots that are held until released, or until the lease runs out.
    Concurrency {
        /// The number of units that may be held at once.
        slots: u64,
        /// The lease of a hold without a renewal.
        lease_us: u64,
    },
    /// A block after too many failures.
    Cooldown {
        /// The number of failures that block.
        after: u64,
        /// The time within which they must occur.
        within_us: u64,
        /// The length of the first block.
        block_us: u64,
        /// The growth of consecutive blocks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalation: Option<EscalationSpec>,
        /// The time that an admitted attempt counts as a failure unless it is reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_us: Option<u64>,
        /// Whether a reported success clears the failures.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reset_on_success: bool,
    },
}

/// The parameters of a bucket: `amount` per `period_us`, up to `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    /// Units that recover per period.
    pub amount: u64,
    /// The period in which they recover.
    pub period_us: u64,
    /// The capacity (for a queue: the number of places).
    pub burst: u64,
    /// Whether charges may go one capacity beyond exhausted.
    pub debt: bool,
}

/// The growth of consecutive blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EscalationSpec {
    /// Each block is this many times as long as the one before.
    pub factor: u64,
    /// No block is longer than this.
    pub max_us: u64,
}

/// One set of checks applied at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The time of the step, in microseconds.
    pub at: u64,
    /// Whether each term is a set of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub independent: bool,
    /// The checks, in order.
    pub checks: Vec<CheckSpec>,
    /// The expected answer; absent until the oracle has filled it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expected>,
}

/// One check of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// The limit: a key of [`Case::limits`].
    pub limit: String,
    /// The key of the counter.
    pub key: String,
    /// The operation.
    pub ask: AskSpec,
    /// Whether this check is an alternative in the term of the check before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub or: bool,
    /// The period `[start, end)` that contains the time of the step; fixed windows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<(u64, u64)>,
}

/// The operation of a check on its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AskSpec {
    /// At least `least` units, and up to `most` when there are more.
    Take {
        /// Fewer than this is a refusal.
        least: u64,
        /// The most units to grant.
        most: u64,
        /// The longest acceptable delay; absent: see the algorithm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patience_us: Option<u64>,
    },
    /// Charges used units; never refused, only capped.
    Charge {
        /// The number of units.
        units: u64,
    },
    /// Refunds units without a receipt; never refused, only capped.
    Refund {
        /// The number of units.
        units: u64,
    },
    /// Settles a receipt to its actual cost; 0 refunds all of it.
    Settle {
        /// The index of the earlier step that yielded the receipt.
        step: usize,
        /// The index of the check in that step.
        check: usize,
        /// The actual cost.
        actual: u64,
    },
    /// Extends a hold by a lease, from now.
    Renew {
        /// The index of the earlier step that yielded the receipt.
        step: usize,
        /// The index of the check in that step.
        check: usize,
    },
    /// Declares a change of tier: the cell was written under another quota.
    Rescale {
        /// That quota.
        from: QuotaSpec,
        /// The id of the change of this one cell; it is made once.
        id: u64,
    },
    /// Makes the cell vacant.
    Reset,
}

/// A quota by itself: `amount` per `period_us`, up to `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaSpec {
    /// Units that recover per period.
    pub amount: u64,
    /// The period in which they recover; 0 for a calendar month, which no bucket has.
    pub period_us: u64,
    /// The capacity (for a queue: the number of places).
    pub burst: u64,
}

/// The expected answer to a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Whether a given period did not contain the time: then nothing was decided at all.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stale: bool,
    /// Whether the set was admitted.
    pub admitted: bool,
    /// One per check, in order; null for an alternative that was not needed. Empty when stale.
    pub decisions: Vec<Option<ExpectedDecision>>,
}

/// The expected decision on one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedDecision {
    /// Whether the check itself is allowed.
    pub allowed: bool,
    /// Units granted (take), charged (charge), refunded (refund), or charged for the receipt
    /// afterwards (settle, renew).
    pub granted: u64,
    /// The capacity.
    pub limit: u64,
    /// Whole units left afterwards, rounded down.
    pub remaining: u64,
    /// The smallest wait after which the same operation is allowed; absent when there is none.
    pub retry_after_us: Option<u64>,
    /// The time until the cell has recovered fully, rounded up.
    pub reset_after_us: u64,
    /// The time to hold the request back.
    pub delay_us: u64,
    /// The reason of a refusal; absent when allowed.
    pub reason: Option<Reason>,
    /// Whether this check has a receipt that later steps may refer to.
    pub receipt: bool,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not enough units left now.
    Exhausted,
    /// More than the capacity; no wait helps.
    CostAboveLimit,
    /// All slots are held, for an unknown time.
    Busy,
    /// Too many failures.
    Blocked,
    /// The receipt is already settled.
    Spent,
    /// The hold does not exist any more.
    Lost,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_false(value: &bool) -> bool {
    !*value
}
