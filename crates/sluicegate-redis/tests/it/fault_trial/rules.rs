//! The rules that the clients of a trial use.

use sluicegate_audit::{OutagePolicy, TraceHeader};
use sluicegate_core::{Check, Limit, OnStoreError, Quota, Span};

/// One key that all clients use; each node has its share of it in an outage.
pub(crate) const HOT: usize = 0;
/// Many keys, used now and then; the same.
const COLD: usize = 1;
/// Denied in an outage.
pub(crate) const CLOSED: usize = 2;
/// Allowed in an outage.
const OPEN: usize = 3;

pub(super) const RULES: usize = 4;

/// Name, quota, number of keys, and the policy in an outage.
const TABLE: [(&str, &str, u64, OnStoreError); RULES] = [
    ("hot", "200/s burst 100", 1, OnStoreError::Local),
    ("cold", "2/s burst 4", 400, OnStoreError::Local),
    ("closed", "100/s burst 50", 2, OnStoreError::Deny),
    ("open", "100/s burst 50", 2, OnStoreError::Allow),
];

/// The limits, and the keys.
pub(crate) struct Rules {
    limits: Vec<Limit>,
    keys: Vec<Vec<String>>,
}

impl Rules {
    pub(crate) fn new() -> Self {
        // Without debt, as all limits of rule files: they have the least room for late charges.
        let limits = TABLE.iter().map(|(name, quota, ..)| {
            Limit::token_bucket(*name, quota.parse().unwrap()).unwrap().without_debt()
        });
        let keys = TABLE
            .iter()
            .map(|(.., count, _)| (0..*count).map(|number| format!("caller {number}")).collect());
        Self { limits: limits.collect(), keys: keys.collect() }
    }

    /// The check of this number: its rule, and its key.
    pub(crate) fn question(number: u64) -> (usize, usize) {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let rule = [HOT, HOT, COLD, CLOSED, OPEN][usize::try_from(mixed % 5).unwrap()];
        (rule, usize::try_from(mixed / 5 % TABLE[rule].2).unwrap())
    }

    pub(crate) fn check(&self, (rule, key): (usize, usize)) -> Check<'_> {
        Check::new(&self.limits[rule], &self.keys[rule][key]).if_unreachable(TABLE[rule].3)
    }

    pub(crate) fn name(rule: usize) -> &'static str {
        TABLE[rule].0
    }

    pub(crate) fn outage(rule: usize) -> OnStoreError {
        TABLE[rule].3
    }

    pub(crate) fn quota(rule: usize) -> Quota {
        TABLE[rule].1.parse().unwrap()
    }

    /// The time after which no usage is left.
    pub(crate) fn longest_recovery() -> Span {
        let recoveries = Self::new().limits.into_iter().filter_map(|limit| limit.recovery());
        recoveries.max().unwrap()
    }

    pub(crate) fn header() -> TraceHeader {
        TABLE.iter().fold(TraceHeader::default(), |header, (name, quota, _, outage)| {
            let spec =
                format!("token_bucket:{quota}").parse::<sluicegate_audit::RuleSpec>().unwrap();
            header.rule(
                *name,
                spec.on_store_error(match outage {
                    OnStoreError::Local => OutagePolicy::Local,
                    OnStoreError::Allow => OutagePolicy::Allow,
                    OnStoreError::Deny => OutagePolicy::Deny,
                }),
            )
        })
    }
}
