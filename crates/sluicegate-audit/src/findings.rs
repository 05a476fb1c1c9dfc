//! What an audit found.

mod text;

use std::fmt;

use serde::Serialize;

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Whether nothing that is promised was broken.
    pub ok: bool,
    /// Entries that were read.
    pub entries: u64,
    /// The time of the first, in microseconds since 1970.
    pub from_us: u64,
    /// The time of the last.
    pub until_us: u64,
    /// Nodes that were named.
    pub nodes: usize,
    /// Rule by rule, by name.
    pub rules: Vec<RuleFindings>,
    /// How long answers took, if the trace says so.
    pub waits: Option<WaitFindings>,
    /// Entries that are missing, by what the trace says itself.
    pub lost: u64,
    /// How often something that is promised was broken.
    pub broken: u64,
    /// The first of each rule.
    pub violations: Vec<Violation>,
    /// What could not be checked, and why.
    pub notes: Vec<String>,
}

/// What was found about one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleFindings {
    /// Its name.
    pub rule: String,
    /// What the header says about it.
    pub limit: String,
    /// Decisions made.
    pub decisions: u64,
    /// How many were allowed.
    pub allowed: u64,
    /// How many were refused.
    pub refused: u64,
    /// Distinct keys.
    pub keys: usize,
    /// Decisions whose every number was compared with an exact limiter's.
    pub exact: u64,
    /// Decisions that were held to a range, because not all that reached the store is known.
    pub within_bounds: u64,
    /// Decisions of which only what they admit was checked.
    pub skipped: u64,
    /// The interval that came closest to what is allowed.
    pub tightest: Option<Tightest>,
    /// How often something that is promised was broken.
    pub broken: u64,
}

/// The interval that came closest to what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tightest {
    /// Whose.
    pub key: String,
    /// Units admitted in it.
    pub admitted: u64,
    /// Units that may be.
    pub allowed: u64,
    /// When it begins.
    pub from_us: u64,
    /// How long it lasts.
    pub length_us: u64,
}

/// How long answers took, in microseconds; the shares to within a 64th.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WaitFindings {
    /// Answers that say so.
    pub count: u64,
    /// What half of them did not exceed.
    pub p50_us: u64,
    /// What 99 of 100 did not exceed.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// One promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which promise.
    pub kind: ViolationKind,
    /// Of which rule.
    pub rule: String,
    /// Whose counter.
    pub key: String,
    /// On which node.
    pub node: String,
    /// When, by the store's clock.
    pub at_us: u64,
    /// In which file, if it was read from one.
    pub file: Option<String>,
    /// On which line of it, or as which entry.
    pub line: u64,
    /// What was found.
    pub what: String,
}

/// Which promise was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// More was admitted in some interval than is allowed.
    OverAdmitted,
    /// More was admitted with and without the store than outages explain.
    OverAdmittedInOutage,
    /// Something was admitted without the store, by a rule that refuses then.
    NotFailedClosed,
    /// Something was refused although the units were there.
    WrongRefusal,
    /// A caller was told another number of units than remain.
    WrongRemaining,
    /// A caller was told a time to retry after that is too short or too long.
    WrongRetryAfter,
    /// A caller was told another delay than its turn needs.
    WrongDelay,
    /// An answer took too long.
    WaitedTooLong,
    /// More nodes took part than the header says.
    TooManyNodes,
    /// An entry came so late that it could not be put in order.
    OutOfOrder,
    /// An entry of a rule that is not in the header.
    UnknownRule,
}

impl ViolationKind {
    /// In one word, for machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OverAdmitted => "over_admitted",
            Self::OverAdmittedInOutage => "over_admitted_in_outage",
            Self::NotFailedClosed => "not_failed_closed",
            Self::WrongRefusal => "wrong_refusal",
            Self::WrongRemaining => "wrong_remaining",
            Self::WrongRetryAfter => "wrong_retry_after",
            Self::WrongDelay => "wrong_delay",
            Self::WaitedTooLong => "waited_too_long",
            Self::TooManyNodes => "too_many_nodes",
            Self::OutOfOrder => "out_of_order",
            Self::UnknownRule => "unknown_rule",
        }
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Findings {
    /// Whether nothing that is promised was broken.
    pub const fn is_ok(&self) -> bool {
        self.ok
    }
}
