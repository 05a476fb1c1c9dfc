//! Who gave an answer.

use serde::Serialize;
use sluicegate::By;

/// Who gave an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The store that all nodes share.
    #[default]
    Store,
    /// A node, from a refusal of the store that it remembers.
    Cached,
    /// A node within its own share, because the store was away.
    Local,
    /// Nobody: the store was away, and the rule says what then.
    Policy,
}

impl Source {
    pub(crate) const ALL: &'static str = "`store`, `cached`, `local` or `policy`";

    /// The source of this name, as traces write it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "store" => Self::Store,
            "cached" | "memory" => Self::Cached,
            "local" | "share" => Self::Local,
            "policy" => Self::Policy,
            _ => return None,
        })
    }

    /// As traces write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Cached => "cached",
            Self::Local => "local",
            Self::Policy => "policy",
        }
    }

    /// Whether the store was away when this was answered.
    pub(crate) const fn is_without_store(self) -> bool {
        matches!(self, Self::Local | Self::Policy)
    }

    /// Whether this is the usual one, of which nothing is said.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(crate) fn is_store(&self) -> bool {
        *self == Self::Store
    }
}

impl From<By> for Source {
    fn from(by: By) -> Self {
        match by {
            By::Store => Self::Store,
            By::Memory => Self::Cached,
            By::Share => Self::Local,
            By::Policy => Self::Policy,
        }
    }
}
