//! A rule: its matcher, key, limits and behaviour.

use std::sync::Arc;

use sluicegate::{Check, Limit, OnStoreError, Scope};

use crate::directory::TimeRange;
use crate::matching::matcher::Matcher;
use crate::request::identity::IfMissing;
use crate::request::purpose::Purpose;
use crate::rule_set::costs::Costs;
use crate::rule_set::limits::{LimitSet, Limits};
use crate::rule_set::policy_names::PolicyNames;
use crate::rule_set::reload::QuotaEdits;

/// Whether a rule may refuse requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A refusal refuses the request.
    #[default]
    Enforce,
    /// Shadow: charged as if it alone were enforced, but only reported.
    Shadow,
}

/// One rule of a file.
#[derive(Debug)]
pub struct Rule {
    pub(crate) name: Box<str>,
    pub(crate) matcher: Matcher,
    /// The indexes of the identities that form its key.
    pub(crate) key: Vec<usize>,
    /// What to do if one of them is missing; overrides the setting of the identity.
    pub(crate) if_missing: Option<IfMissing>,
    pub(crate) limits: Limits,
    pub(crate) cooldown: Option<CooldownPolicy>,
    pub(crate) costs: Costs,
    pub(crate) mode: Mode,
    pub(crate) scope: Scope,
    pub(crate) on_store_error: OnStoreError,
    /// Whether an admission needs the acknowledgement of a replica of the store.
    pub(crate) strict: bool,
    /// Whether usage carries over a change of tier.
    pub(crate) carries_over: bool,
    /// Temporary limits for all callers; the last one that applies is used.
    pub(crate) overrides: Vec<(TimeRange, LimitSet)>,
    /// Edits of its quotas whose effects may persist in stores.
    pub(crate) edits: QuotaEdits,
    /// The limits of overrides for single callers, so that their charges can be settled by name.
    pub(crate) limits_of_callers: Vec<Arc<LimitSet>>,
    /// The names of its limits in responses.
    pub(crate) policies: PolicyNames,
    /// Whether responses report the state of its limits.
    pub(crate) is_reported: bool,
    /// The operator's message for refused callers.
    pub(crate) message: Option<Box<str>>,
}

impl Rule {
    /// The limits of all overrides, for all callers and for single ones.
    pub(crate) fn overriding(&self) -> impl Iterator<Item = &LimitSet> {
        let of_all = self.overrides.iter().map(|(_, limits)| limits);
        of_all.chain(self.limits_of_callers.iter().map(Arc::as_ref))
    }
}

/// A cooldown, and the results that count as failures.
#[derive(Debug)]
pub(crate) struct CooldownPolicy {
    pub(crate) limit: Limit,
    pub(crate) on_status: Vec<u16>,
    /// Whether a success has an effect: attempts are pending, or it clears the failures.
    pub(crate) counts_successes: bool,
}

/// The result of a request, for a cooldown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestResult {
    Failure,
    Success,
}

impl CooldownPolicy {
    /// The result that a plan of this purpose reports; `None` if it is not counted.
    ///
    /// An error that is not a failure, such as 500, is not a success either: the attempt expires.
    pub(crate) fn reported_result(&self, purpose: Purpose) -> Option<RequestResult> {
        let ended = match purpose {
            Purpose::Failure(None) => RequestResult::Failure,
            Purpose::Failure(Some(status)) if self.on_status.contains(&status) => {
                RequestResult::Failure
            }
            Purpose::Failure(Some(status)) if status < 400 => RequestResult::Success,
            Purpose::Success => RequestResult::Success,
            _ => return None,
        };
        Some(ended).filter(|ended| *ended == RequestResult::Failure || self.counts_successes)
    }
}

impl Rule {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may refuse requests.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether it counts per node or for all nodes together.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// What happens to requests while the store is down.
    pub const fn on_store_error(&self) -> OnStoreError {
        self.on_store_error
    }

    /// Whether an admission needs the acknowledgement of a replica of the store.
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether responses report the state of its limits.
    pub const fn is_reported(&self) -> bool {
        self.is_reported
    }

    /// The operator's message for refused callers.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Creates a check of one of its limits, with its scope, fallback and strictness.
    #[inline]
    pub(crate) fn check<'p>(&self, limit: &'p Limit, key: &'p [u8]) -> Check<'p> {
        let check = Check::new(limit, key).scoped(self.scope).if_unreachable(self.on_store_error);
        check.strictly(self.strict)
    }
}
