//! A rule in the header of a trace.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sluicegate_core::{Algorithm, Limit, OnStoreError, Per, Quota, Slices, Spec};

use super::{HeaderError, OutagePolicy};

/// A rule in a header: the algorithm and its parameters.
///
/// Its short form for command lines: `token_bucket:100/min burst 20`, or `concurrency:20/10s` for
/// 20 slots with a lease of ten seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuleSpec {
    /// The algorithm as named in rule files; `token_bucket` by default.
    #[serde(default = "token_bucket")]
    pub algorithm: String,
    /// The quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// The number of slices of a sliding window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<u32>,
    /// Whether the oldest of them counts in full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// For concurrency: the number of slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// For concurrency: the lease of a slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// The time zone of a fixed window, if not UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// The fallback while the store is unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_store_error: Option<OutagePolicy>,
    /// The name of the counters, by default the rule's own. Rules with the same name share their
    /// counters: a caller whose quota changes keeps its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Whether each node has its own counters besides the shared ones. These are not checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_node: bool,
}

fn token_bucket() -> String {
    "token_bucket".to_owned()
}

impl RuleSpec {
    /// Creates a rule from an algorithm that needs only a quota.
    pub fn quota(algorithm: impl Into<String>, quota: impl fmt::Display) -> Self {
        let quota = Some(quota.to_string());
        Self { algorithm: algorithm.into(), quota, ..Self::default() }
    }

    /// Creates a rule for a sliding window with this many slices.
    pub fn sliding_window(quota: impl fmt::Display, slices: u32, strict: bool) -> Self {
        Self { slices: Some(slices), strict, ..Self::quota("sliding_window", quota) }
    }

    /// Creates a rule for this many slots in flight.
    pub fn concurrency(slots: u32, lease_ms: u64) -> Self {
        let (slots, lease_ms) = (Some(slots), Some(lease_ms));
        Self { algorithm: "concurrency".to_owned(), slots, lease_ms, ..Self::default() }
    }

    /// Creates the rule of a limit.
    pub fn of(limit: &Limit) -> Self {
        let named = Self { algorithm: limit.algorithm().to_owned(), ..Self::default() };
        match *limit.spec() {
            Spec::Quota { algorithm, quota, slices, .. } => {
                let (count, strict) = match slices {
                    Slices::Weighted(count) => (count, false),
                    Slices::Strict(count) => (count, true),
                };
                let sliding = algorithm == Algorithm::SlidingWindow;
                Self {
                    quota: Some(quota.to_string()),
                    slices: sliding.then_some(count),
                    strict: sliding && strict,
                    timezone: limit.named_calendar().map(|calendar| calendar.name().to_owned()),
                    ..named
                }
            }
            Spec::Slots { slots, lease } => {
                Self::concurrency(slots, lease.as_micros().div_ceil(1_000))
            }
            Spec::Cooldown(_) => named,
        }
    }

    /// Returns the rule with the fallback of a check.
    #[must_use]
    pub fn with_outage(self, outage: OnStoreError) -> Self {
        self.on_store_error(match outage {
            OnStoreError::Local => OutagePolicy::Local,
            OnStoreError::Allow => OutagePolicy::Allow,
            OnStoreError::Deny => OutagePolicy::Deny,
        })
    }

    /// Returns the rule with a fallback for an unavailable store.
    #[must_use]
    pub fn on_store_error(self, policy: OutagePolicy) -> Self {
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

/// The readable form of the rule.
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
            Some(OutagePolicy::Local) => f.write_str(", local without a store"),
            Some(OutagePolicy::Allow) => f.write_str(", allowed without a store"),
            Some(OutagePolicy::Deny) => f.write_str(", refused without a store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::{Cooldown, Span};

    use super::*;

    #[test]
    fn limits_are_written_with_all_settings() {
        let quota = |text: &str| text.parse::<Quota>().unwrap();
        let cooldown = Cooldown {
            after: 5,
            within: Span::from_secs(60),
            block: Span::from_secs(10),
            escalation: None,
            pending: None,
            reset_on_success: false,
        };
        let strict = Slices::Strict(10);
        let weighted = Slices::Weighted(6);
        let lease = Span::from_secs(10);
        for (limit, written) in [
            (Limit::token_bucket("a", quota("6000/h burst 20")), "token_bucket 6000/hour burst 20"),
            (Limit::queue("a", quota("10/s burst 30")), "queue 10/s burst 30"),
            (Limit::fixed_window("a", quota("9/month")), "fixed_window 9/month"),
            (Limit::sliding_log("a", quota("50/min")), "sliding_log 50/min"),
            (
                Limit::sliding_window("a", quota("100/min"), strict),
                "sliding_window 100/min in 10 slices, strict",
            ),
            (
                Limit::sliding_window("a", quota("100/min"), weighted),
                "sliding_window 100/min in 6 slices",
            ),
            (Limit::concurrency("a", 20, lease), "concurrency of 20 slots for 10000ms"),
            (Limit::cooldown("a", cooldown), "cooldown"),
        ] {
            assert_eq!(RuleSpec::of(&limit.unwrap()).to_string(), written);
        }
    }
}
