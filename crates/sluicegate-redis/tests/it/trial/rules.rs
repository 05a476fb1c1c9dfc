//! What the clients of a trial ask about.

use sluicegate_audit::{Header, OnStoreError};
use sluicegate_core::{Check, Limit, Outage, Quota, Span};

/// One key that everybody asks about; each node has its share of it in an outage.
pub(crate) const HOT: usize = 0;
/// Many keys, asked about now and then; the same.
const COLD: usize = 1;
/// Refused in an outage.
pub(crate) const CLOSED: usize = 2;
/// Allowed in an outage.
const OPEN: usize = 3;

pub(super) const RULES: usize = 4;

/// Name, quota, number of keys, and what becomes of it in an outage.
const TABLE: [(&str, &str, u64, Outage); RULES] = [
    ("hot", "200/s burst 100", 1, Outage::Local),
    ("cold", "2/s burst 4", 400, Outage::Local),
    ("closed", "100/s burst 50", 2, Outage::Deny),
    ("open", "100/s burst 50", 2, Outage::Allow),
];

/// The limits, and the keys that are asked about.
pub(crate) struct Rules {
    limits: Vec<Limit>,
    keys: Vec<Vec<String>>,
}

impl Rules {
    pub(crate) fn new() -> Self {
        // Without debt, as all limits of rule files: there is least room for what is charged late.
        let limits = TABLE.iter().map(|(name, quota, ..)| {
            Limit::token_bucket(*name, quota.parse().unwrap()).unwrap().without_debt()
        });
        let keys = TABLE
            .iter()
            .map(|(.., count, _)| (0..*count).map(|number| format!("caller {number}")).collect());
        Self { limits: limits.collect(), keys: keys.collect() }
    }

    /// The question of this number: which rule, which of its keys.
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

    pub(crate) fn outage(rule: usize) -> Outage {
        TABLE[rule].3
    }

    pub(crate) fn quota(rule: usize) -> Quota {
        TABLE[rule].1.parse().unwrap()
    }

    /// After so long nothing is left of what was used.
    pub(crate) fn longest_recovery() -> Span {
        let recoveries = Self::new().limits.into_iter().filter_map(|limit| limit.recovery());
        recoveries.max().unwrap()
    }

    pub(crate) fn header() -> Header {
        TABLE.iter().fold(Header::default(), |header, (name, quota, _, outage)| {
            let spec =
                format!("token_bucket:{quota}").parse::<sluicegate_audit::RuleSpec>().unwrap();
            header.rule(
                *name,
                spec.on_store_error(match outage {
                    Outage::Local => OnStoreError::Local,
                    Outage::Allow => OnStoreError::Allow,
                    Outage::Deny => OnStoreError::Deny,
                }),
            )
        })
    }
}
