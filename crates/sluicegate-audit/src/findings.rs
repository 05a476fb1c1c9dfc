//! The findings of an audit.

mod display;

use std::fmt;

use serde::Serialize;

/// The findings of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Whether there are no violations.
    pub ok: bool,
    /// The number of entries read.
    pub entries: u64,
    /// The time of the first entry, in microseconds since 1970.
    pub from_us: u64,
    /// The time of the last entry.
    pub until_us: u64,
    /// The number of distinct nodes in the entries.
    pub nodes: usize,
    /// The findings by rule, sorted by name.
    pub rules: Vec<RuleFindings>,
    /// The latency of decisions, if the trace contains it.
    pub waits: Option<LatencyFindings>,
    /// The number of missing entries, according to the trace itself.
    pub lost: u64,
    /// The number of violations.
    pub broken: u64,
    /// The first violations of each rule.
    pub violations: Vec<Violation>,
    /// Parts that could not be checked, with the reason.
    pub notes: Vec<String>,
}

/// The findings of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleFindings {
    /// The name of the rule.
    pub rule: String,
    /// The limit of the rule in the header.
    pub limit: String,
    /// The number of decisions.
    pub decisions: u64,
    /// The number of allowed requests.
    pub allowed: u64,
    /// The number of refused requests.
    pub refused: u64,
    /// The number of distinct keys.
    pub keys: usize,
    /// Decisions with every number compared to an exact limiter.
    pub exact: u64,
    /// Decisions checked by bounds, because the store's state was not known exactly.
    pub within_bounds: u64,
    /// Decisions of which only the admitted units were checked.
    pub skipped: u64,
    /// The interval closest to its bound.
    pub tightest: Option<Tightest>,
    /// The number of violations.
    pub broken: u64,
}

/// The interval closest to its bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tightest {
    /// The key of the counter.
    pub key: String,
    /// The units admitted in it.
    pub admitted: u64,
    /// The units allowed in it.
    pub allowed: u64,
    /// Its beginning.
    pub from_us: u64,
    /// Its length.
    pub length_us: u64,
}

/// The latency of decisions in microseconds; percentiles at most a 128th too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LatencyFindings {
    /// The number of decisions with a latency.
    pub count: u64,
    /// The median.
    pub p50_us: u64,
    /// The 99th percentile.
    pub p99_us: u64,
    /// The maximum.
    pub max_us: u64,
}

/// A violation of a guarantee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The kind of the violation.
    pub kind: ViolationKind,
    /// The rule.
    pub rule: String,
    /// The key of the counter.
    pub key: String,
    /// The node.
    pub node: String,
    /// The store's time of the entry.
    pub at_us: u64,
    /// The file, if the entry was read from one.
    pub file: Option<String>,
    /// The line in the file, or the number of the entry.
    pub line: u64,
    /// A description of the violation.
    pub what: String,
}

/// The kind of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// More units were admitted in some interval than allowed.
    OverAdmitted,
    /// More units were admitted with and without the store than outages explain.
    OverAdmittedInOutage,
    /// A rule that fails closed admitted a request without the store.
    NotFailedClosed,
    /// A request was refused although enough units were left.
    WrongRefusal,
    /// A decision reported a wrong number of remaining units.
    WrongRemaining,
    /// A decision reported a retry time that is too short or too long.
    WrongRetryAfter,
    /// A decision reported a delay that differs from that of its turn.
    WrongDelay,
    /// A decision took too long.
    WaitedTooLong,
    /// More nodes took part than the header declares.
    TooManyNodes,
    /// An entry arrived too late to be sorted.
    OutOfOrder,
    /// An entry of a rule that is not in the header.
    UnknownRule,
}

impl ViolationKind {
    /// Returns the kind as one machine-readable word.
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
    /// Returns whether there are no violations.
    pub const fn is_ok(&self) -> bool {
        self.ok
    }
}
