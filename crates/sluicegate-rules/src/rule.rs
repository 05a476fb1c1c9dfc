//! A rule: which requests, whose counter, how much, and what then.

use std::sync::Arc;

use sluicegate::{Check, Limit, Outage, Scope};

use crate::costs::Costs;
use crate::directory::During;
use crate::edited::Edits;
use crate::identity::IfMissing;
use crate::limits::{Limits, Windows};
use crate::matcher::Matcher;
use crate::planning::Purpose;
use crate::policies::PolicyNames;

/// One rule of a file.
#[derive(Debug)]
pub struct Rule {
    pub(crate) name: Box<str>,
    pub(crate) matcher: Matcher,
    /// The identities whose values make its key; indexes.
    pub(crate) key: Vec<usize>,
    /// What becomes of the rule if one of them is missing, where the rule itself says so.
    pub(crate) if_missing: Option<IfMissing>,
    pub(crate) limits: Limits,
    pub(crate) cooldown: Option<Cooling>,
    pub(crate) costs: Costs,
    pub(crate) mode: Mode,
    pub(crate) scope: Scope,
    pub(crate) on_store_error: Outage,
    /// Whether a replica of the store has to have what it admits.
    pub(crate) strict: bool,
    pub(crate) consistency: Consistency,
    /// Whether what was used carries over a change of tier.
    pub(crate) carries_over: bool,
    /// Other limits for everybody, for a time; the last that fits counts.
    pub(crate) overrides: Vec<(During, Windows)>,
    /// What has become of it while callers used it.
    pub(crate) edits: Edits,
    /// Limits that single callers have instead: what is charged to them is settled by name.
    pub(crate) limits_of_callers: Vec<Arc<Windows>>,
    /// What its limits are called towards callers.
    pub(crate) policies: PolicyNames,
    /// Whether callers are told how they stand with it.
    pub(crate) told: bool,
    /// What a refused caller is told, in the operator's own words.
    pub(crate) message: Option<Box<str>>,
}

impl Rule {
    /// The limits of all overrides, for everybody and for single callers.
    pub(crate) fn overriding(&self) -> impl Iterator<Item = &Windows> {
        let of_all = self.overrides.iter().map(|(_, windows)| windows);
        of_all.chain(self.limits_of_callers.iter().map(Arc::as_ref))
    }
}

/// A cooldown, and what counts as a failure.
#[derive(Debug)]
pub(crate) struct Cooling {
    pub(crate) limit: Limit,
    pub(crate) on_status: Vec<u16>,
    /// Whether a success changes anything: attempts are pending, or it clears the failures.
    pub(crate) counts_successes: bool,
}

/// How a request ended, to a cooldown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Failure,
    Success,
}

/// Whether a rule may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It refuses.
    #[default]
    Enforce,
    /// It counts and reports what it would do, and never blocks.
    Shadow,
}

/// How often a count visits the shared store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// With every decision.
    #[default]
    Exact,
}

impl Cooling {
    /// How the request ended that a plan of this purpose reports; `None` if that is not counted.
    ///
    /// An error that is no failure, such as 500, is no success either: the attempt expires.
    pub(crate) fn ended(&self, purpose: Purpose) -> Option<Ended> {
        let ended = match purpose {
            Purpose::Failure(None) => Ended::Failure,
            Purpose::Failure(Some(status)) if self.on_status.contains(&status) => Ended::Failure,
            Purpose::Failure(Some(status)) if status < 400 => Ended::Success,
            Purpose::Success => Ended::Success,
            _ => return None,
        };
        Some(ended).filter(|ended| *ended == Ended::Failure || self.counts_successes)
    }
}

impl Rule {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may refuse.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Whose count it is.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// What becomes of a request while the store is down.
    pub const fn on_store_error(&self) -> Outage {
        self.on_store_error
    }

    /// Whether a replica of the store has to have what it admits.
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// How often its count visits the shared store.
    pub const fn consistency(&self) -> Consistency {
        self.consistency
    }

    /// Whether callers are told how they stand with it.
    pub const fn is_told(&self) -> bool {
        self.told
    }

    /// What a refused caller is told, in the operator's own words.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// A check of one of its limits: with the count it asks for, and what it says about a store that
    /// is down.
    #[inline]
    pub(crate) fn check<'p>(&self, limit: &'p Limit, key: &'p [u8]) -> Check<'p> {
        let check = Check::new(limit, key).scoped(self.scope).if_unreachable(self.on_store_error);
        check.strictly(self.strict)
    }
}
