//! The source of a decision.

use serde::Serialize;
use sluicegate::DecidedBy;

/// The source of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionSource {
    /// The store shared by all nodes.
    #[default]
    Store,
    /// A node, from a cached refusal of the store.
    Cached,
    /// A node within its own share, because the store was unavailable.
    Local,
    /// The fallback of the rule, because the store was unavailable.
    Policy,
}

impl DecisionSource {
    pub(crate) const ALL: &'static str = "`store`, `cached`, `local` or `policy`";

    /// Returns the source with this name in traces.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "store" => Self::Store,
            "cached" | "memory" => Self::Cached,
            "local" | "share" => Self::Local,
            "policy" => Self::Policy,
            _ => return None,
        })
    }

    /// Returns the name in traces.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Cached => "cached",
            Self::Local => "local",
            Self::Policy => "policy",
        }
    }

    /// Returns whether the store was unavailable for this decision.
    pub(crate) const fn is_without_store(self) -> bool {
        matches!(self, Self::Local | Self::Policy)
    }

    /// Returns whether this is the default source, which traces omit.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(crate) fn is_store(&self) -> bool {
        *self == Self::Store
    }
}

impl From<DecidedBy> for DecisionSource {
    fn from(by: DecidedBy) -> Self {
        match by {
            DecidedBy::Store => Self::Store,
            DecidedBy::Memory => Self::Cached,
            DecidedBy::Share => Self::Local,
            DecidedBy::Policy => Self::Policy,
        }
    }
}
