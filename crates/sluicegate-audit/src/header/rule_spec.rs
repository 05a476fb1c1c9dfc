//! A rule as a header writes it.

mod of_limit;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sluicegate_core::{Per, Quota};

use super::{HeaderError, OnStoreError};

/// A rule as a header writes it: the algorithm, and what that needs.
///
/// In one word, as on a command line: `token_bucket:100/min burst 20`, or
/// `concurrency:20/10s` for 20 slots with a lease of ten seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuleSpec {
    /// As rule files call it; `token_bucket` if left out.
    #[serde(default = "token_bucket")]
    pub algorithm: String,
    /// How much per how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// Into how many blocks a sliding window is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<u32>,
    /// Whether the oldest of them counts in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// For concurrency: how many may be in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// For concurrency: how long a slot is held without a renewal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Whose days and months a fixed window counts, if not UTC's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// What becomes of a request while the store is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_store_error: Option<OnStoreError>,
    /// Rules of which this says the same, or which are called so, share their counters: a caller
    /// whose quota changes takes along what it has used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Whether each node has counters of its own beside those that are shared. Those are not
    /// checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_node: bool,
}

fn token_bucket() -> String {
    "token_bucket".to_owned()
}

impl RuleSpec {
    /// A rule by an algorithm that needs nothing but a quota.
    pub fn quota(algorithm: impl Into<String>, quota: impl fmt::Display) -> Self {
        let quota = Some(quota.to_string());
        Self { algorithm: algorithm.into(), quota, ..Self::default() }
    }

    /// A sliding window in so many slices.
    pub fn sliding_window(quota: impl fmt::Display, slices: u32, strict: bool) -> Self {
        Self { slices: Some(slices), strict, ..Self::quota("sliding_window", quota) }
    }

    /// So many slots in flight.
    pub fn concurrency(slots: u32, lease_ms: u64) -> Self {
        let (slots, lease_ms) = (Some(slots), Some(lease_ms));
        Self { algorithm: "concurrency".to_owned(), slots, lease_ms, ..Self::default() }
    }

    /// The same, and what becomes of a request while the store is away.
    #[must_use]
    pub fn on_store_error(self, policy: OnStoreError) -> Self {
        Self { on_store_error: Some(policy), ..self }
    }
}

impl FromStr for RuleSpec {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        let Some((algorithm, amount)) = text.split_once(':') else {
            return Err(HeaderError::new(format!(
                "`{}` names no quota; write an algorithm, a colon and a quota, \
                 as in `token_bucket:100/min`",
                text.escape_debug()
            )));
        };
        let (algorithm, amount) = (algorithm.trim(), amount.trim());
        if algorithm != "concurrency" {
            return Ok(Self::quota(algorithm, amount));
        }
        let slots = amount.parse::<Quota>().ok().and_then(|quota| match quota.per() {
            Per::Span(lease) if quota.burst().is_none() && lease.as_micros() >= 1_000 => {
                let slots = u32::try_from(quota.amount()).ok()?;
                Some(Self::concurrency(slots, lease.as_micros() / 1_000))
            }
            _ => None,
        });
        slots.ok_or_else(|| {
            HeaderError::new(format!(
                "`{}` is not so many slots for so long; write them as in `concurrency:20/10s`",
                amount.escape_debug()
            ))
        })
    }
}

/// As somebody would say it.
impl fmt::Display for RuleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.algorithm)?;
        if let Some(quota) = &self.quota {
            write!(f, " {quota}")?;
        }
        if let Some(slots) = self.slots {
            write!(f, " of {slots} slots")?;
        }
        if let Some(lease) = self.lease_ms {
            write!(f, " for {lease}ms")?;
        }
        if let Some(slices) = self.slices {
            write!(f, " in {slices} slices")?;
        }
        if self.strict {
            f.write_str(", strict")?;
        }
        if let Some(timezone) = &self.timezone {
            write!(f, " in {timezone}")?;
        }
        if self.by_node {
            f.write_str(", of each node")?;
        }
        match self.on_store_error {
            None => Ok(()),
            Some(OnStoreError::Local) => f.write_str(", local without a store"),
            Some(OnStoreError::Allow) => f.write_str(", allowed without a store"),
            Some(OnStoreError::Deny) => f.write_str(", refused without a store"),
        }
    }
}
