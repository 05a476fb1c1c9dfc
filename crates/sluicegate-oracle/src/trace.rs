//! The JSON format of the vectors: limits, steps, and what each step must answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One file of vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorFile {
    /// What the file is about, in a sentence or two.
    pub about: String,
    /// The cases; each starts from nothing.
    pub cases: Vec<Case>,
}

/// One story: limits, and steps applied to them in order, starting with every cell vacant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A sentence that says what must hold, such as `refuses_one_past_burst`.
    pub name: String,
    /// The limits by the handle that checks use for them.
    pub limits: BTreeMap<String, LimitSpec>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A limit: its name (which together with a key names a cell) and what it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSpec {
    /// The name; two limits of the same name read the same cells.
    pub name: String,
    /// The algorithm with its numbers.
    pub algorithm: AlgorithmSpec,
}

/// An algorithm with its numbers; all times are whole microseconds.
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
        /// Into how many blocks the window is cut; divides `period_us`.
        slices: u64,
        /// Whether the oldest block counts whole instead of by its share.
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
        /// How many units may be held at once.
        slots: u64,
        /// How long a hold lasts without a renewal.
        lease_us: u64,
    },
    /// A block after too many failures.
    Cooldown {
        /// How many failures block.
        after: u64,
        /// Within what time they must fall.
        within_us: u64,
        /// How long the (first) block lasts.
        block_us: u64,
        /// Whether and how blocks in a row get longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalation: Option<EscalationSpec>,
        /// How long an admitted attempt counts as a failure unless it is reported.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_us: Option<u64>,
        /// Whether a reported success clears the failures.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reset_on_success: bool,
    },
}

/// The numbers of a bucket: `amount` per `period_us`, up to `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    /// Units that come back per period.
    pub amount: u64,
    /// The period they come back in.
    pub period_us: u64,
    /// The capacity (for a queue: the number of places).
    pub burst: u64,
    /// Whether charges may go one capacity beyond exhausted.
    pub debt: bool,
}

/// How blocks in a row get longer.
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
    /// What the step must answer; absent until the oracle filled it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expected>,
}

/// One check of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Which limit: a key of [`Case::limits`].
    pub limit: String,
    /// Whose counter.
    pub key: String,
    /// What is asked.
    pub ask: AskSpec,
    /// Whether the answer may refuse the set.
    #[serde(default, skip_serializing_if = "Gate::is_enforce")]
    pub gate: Gate,
    /// Whether this check is an alternative in the term of the check before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub or: bool,
    /// The period `[start, end)` that contains the time of the step; fixed windows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<(u64, u64)>,
}

/// Whether a check may refuse its set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// A refusal refuses the term, unless an alternative admits.
    #[default]
    Enforce,
    /// A refusal is only reported.
    Observe,
}

impl Gate {
    /// Whether this is [`Gate::Enforce`].
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
    pub fn is_enforce(&self) -> bool {
        *self == Gate::Enforce
    }
}

/// What a check asks of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AskSpec {
    /// At least `least` units, and up to `most` when there are more.
    Take {
        /// Fewer than this is a refusal.
        least: u64,
        /// More than this is not wanted.
        most: u64,
        /// How long the caller is willing to wait; absent: see the algorithm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patience_us: Option<u64>,
    },
    /// Units that were used already; never refused, only capped.
    Charge {
        /// How many.
        units: u64,
    },
    /// Units that were not used after all, without a receipt; never refused, only capped.
    Refund {
        /// How many.
        units: u64,
    },
    /// What a receipt really cost; 0 gives all of it back.
    Settle {
        /// The index of the earlier step that yielded the receipt.
        step: usize,
        /// The index of the check in that step.
        check: usize,
        /// What it really cost.
        actual: u64,
    },
    /// A hold wants to last a lease longer, from now.
    Renew {
        /// The index of the earlier step that yielded the receipt.
        step: usize,
        /// The index of the check in that step.
        check: usize,
    },
    /// The caller's tier changed: what a bucket holds was written under another quota.
    Rescale {
        /// That quota.
        from: QuotaSpec,
        /// Names the change of this one cell; it is made once.
        id: u64,
    },
    /// The cell becomes vacant.
    Reset,
}

/// A quota by itself: `amount` per `period_us`, up to `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaSpec {
    /// Units that come back per period.
    pub amount: u64,
    /// The period they come back in; 0 for a calendar month, which no bucket has.
    pub period_us: u64,
    /// The capacity (for a queue: the number of places).
    pub burst: u64,
}

/// What a step must answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Whether a period handed in did not contain the time: then nothing was decided at all.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stale: bool,
    /// Whether the set was admitted.
    pub admitted: bool,
    /// One per check, in order; null for an alternative that was not asked. Empty when stale.
    pub decisions: Vec<Option<ExpectedDecision>>,
}

/// What one check must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedDecision {
    /// Whether the check itself is content.
    pub allowed: bool,
    /// Units granted (take), really charged (charge), really given back (refund), or standing for
    /// the receipt (settle, renew).
    pub granted: u64,
    /// The capacity.
    pub limit: u64,
    /// Whole units left afterwards, rounded down.
    pub remaining: u64,
    /// The smallest wait after which the same ask would be allowed; absent when there is none.
    pub retry_after_us: Option<u64>,
    /// Time until the cell is as good as untouched, rounded up.
    pub reset_after_us: u64,
    /// How long the caller must wait before going on.
    pub delay_us: u64,
    /// Why it was refused; absent when allowed.
    pub reason: Option<Reason>,
    /// Whether this check yields a receipt that later steps may name.
    pub receipt: bool,
}

/// Why a check refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not enough left now; later there will be.
    Exhausted,
    /// More than the capacity; no wait helps.
    CostAboveLimit,
    /// All slots are held; nobody knows for how long.
    Busy,
    /// Too many failures.
    Blocked,
    /// The receipt was settled before.
    Spent,
    /// The hold is gone.
    Lost,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_false(value: &bool) -> bool {
    !*value
}
