//! A rule file as data: written as YAML for the program, read by the model.

mod yaml;

pub(crate) use self::yaml::quota_text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The part of the rule language that random files use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tiers: Option<Tiers>,
    pub(crate) rules: Vec<Rule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) overrides: Vec<Override>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lists: Vec<ListEntry>,
    #[serde(default)]
    pub(crate) headers: Headers,
    /// The number of pages of the shared store, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pages: Option<u32>,
}

/// Tiers, and the table of callers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tiers {
    /// The tier of each user that the table lists.
    pub(crate) table: BTreeMap<String, String>,
    pub(crate) default: String,
    pub(crate) names: Vec<String>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// Matches descriptors of exactly `user` and `tenant`, but for one banned tenant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) descriptor: bool,
    /// Names of identities.
    pub(crate) key: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) if_missing: Option<IfMissing>,
    pub(crate) limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) soft: Option<Soft>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cooldown: Option<Cooldown>,
    #[serde(default)]
    pub(crate) cost: Cost,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) shadow: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) node_scope: bool,
    #[serde(default)]
    pub(crate) on_store_error: OnStoreError,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) debt: bool,
    /// Left out of the headers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) hidden: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Whether a change of tier starts with new counters.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) fresh_tiers: bool,
}

/// The effect of a missing identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IfMissing {
    Share,
    Skip,
    Refuse,
}

/// The limits of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limits {
    /// A cooldown alone.
    None,
    Same(Vec<Window>),
    /// By tier; a tier without an entry is unlimited.
    ByTier(BTreeMap<String, Vec<Window>>),
}

/// One limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Window {
    Quota { quota: Quota, algorithm: Algorithm },
    Slots { slots: u64, lease_us: u64 },
}

/// An amount per period, with a burst of its own or of the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quota {
    pub(crate) amount: u64,
    pub(crate) period_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) burst: Option<u64>,
}

impl Quota {
    pub(crate) fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.amount)
    }
}

/// How a quota is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Algorithm {
    TokenBucket,
    LeakyBucket,
    Queue,
    FixedWindow,
    SlidingWindow { slices: u64, strict: bool },
    SlidingLog,
}

impl Algorithm {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::Queue => "queue",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow { .. } => "sliding_window",
            Self::SlidingLog => "sliding_log",
        }
    }

    /// Whether the state is a time at which the bucket is full again.
    pub(crate) fn is_bucket(self) -> bool {
        matches!(self, Self::TokenBucket | Self::LeakyBucket | Self::Queue)
    }
}

/// Admission beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Soft {
    /// Units more in the same period, or a quota of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) extra: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grace: Option<Quota>,
    pub(crate) delay_us: u64,
}

/// A block after failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cooldown {
    pub(crate) after: u64,
    pub(crate) within_us: u64,
    pub(crate) block_us: u64,
    /// The factor and the longest block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) escalation: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pending_us: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reset_on_success: bool,
}

/// The price of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cost {
    /// The cost that the request carries, or 1.
    #[default]
    Caller,
    Fixed(u64),
    /// The cost that the request carries, up to a bound.
    CallerUpTo(u64),
}

/// The fallback while the shared store is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnStoreError {
    #[default]
    Local,
    Allow,
    Deny,
}

/// Other limits, or another tier, for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Override {
    /// A user; all users if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    pub(crate) rule: String,
    pub(crate) limit: Vec<Window>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until_us: Option<u64>,
}

/// A user on the allow-list or on the block-list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListEntry {
    pub(crate) block: bool,
    pub(crate) user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until_us: Option<u64>,
}

/// Header settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Headers {
    #[serde(default)]
    pub(crate) names: HeaderNames,
    /// Resets as seconds since 1970.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) epoch: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_ietf: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) upgrade: bool,
}

/// The family of headers about the strictest limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HeaderNames {
    #[default]
    XRatelimit,
    XRateLimit,
    Legacy,
    Off,
}

/// The address and the sentence that `upgrade` refers to.
pub(crate) const UPGRADE: (&str, &str) = ("https://example.com/plans", "Another plan has more.");

impl RuleFile {
    pub(crate) fn to_yaml(&self) -> String {
        yaml::write(self)
    }

    pub(crate) fn rule(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.name == name)
    }
}
