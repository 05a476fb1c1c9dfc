//! The tiers of a rule set.

use std::collections::HashMap;
use std::sync::Arc;

/// The index of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TierId(pub(crate) usize);

/// All tiers, and how to find the tier of a caller.
#[derive(Debug)]
pub(crate) struct Tiers {
    pub(crate) names: Vec<Box<str>>,
    by_name: HashMap<Box<str>, TierId>,
    /// The identity whose value is the tier, if requests carry it.
    pub(crate) identity: Option<usize>,
    /// The tier of callers without a known tier.
    pub(crate) default: TierId,
    default_name: Arc<str>,
}

impl Tiers {
    pub(crate) fn new(names: Vec<Box<str>>, identity: Option<usize>, default: TierId) -> Self {
        let by_name =
            names.iter().enumerate().map(|(id, name)| (name.clone(), TierId(id))).collect();
        let default_name = names.get(default.0).map_or("", |name| name).into();
        Self { names, by_name, identity, default, default_name }
    }

    pub(crate) fn named(&self, name: &str) -> Option<TierId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn name(&self, tier: TierId) -> &str {
        self.names.get(tier.0).map_or("", |name| name)
    }

    pub(crate) fn default_name(&self) -> &Arc<str> {
        &self.default_name
    }
}
