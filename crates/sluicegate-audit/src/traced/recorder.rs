//! Writes decisions down: names of rules, digests of keys, and what cannot be written is counted.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use sluicegate::{Applied, By};
use sluicegate_core::{Check, Decision, Limit, Outage, Ruling, Scope, Set, Span, Time};

use super::entries::{Written, written};
use crate::entry::Entry;
use crate::header::RuleSpec;
use crate::source::Source;
use crate::trace::Trace;

/// The most limits that a trace tells apart. Requests may bring quotas of their own, and so any
/// number of limits; what is beyond this is counted as missing.
const MOST_LIMITS: usize = 4_096;

/// Writes decisions down in a trace.
///
/// Keys are written as digests, by which nobody can tell who it is without the secret. Nodes whose
/// traces are audited together need the same secret, and different names.
pub struct Recorder {
    trace: Trace,
    node: String,
    secret: [u8; 32],
    is_shared: bool,
    limits: RwLock<HashMap<u64, Vec<Named>>>,
}

/// A limit that the trace has a rule for.
struct Named {
    limit: Limit,
    outage: Outage,
    is_own: bool,
    /// What the rule is called.
    rule: Arc<str>,
}

impl Named {
    fn is_of(&self, check: &Check<'_>, is_own: bool) -> bool {
        self.outage == check.outage() && self.is_own == is_own && self.limit == *check.limit()
    }
}

/// Without the secret: who knows that can tell callers from their digests.
impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("node", &self.node)
            .field("is_shared", &self.is_shared)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Writes down what this node decides, with keys as digests under this secret.
    pub fn new(trace: Trace, node: impl Into<String>, secret: [u8; 32]) -> Self {
        let node = node.into();
        Self { trace, node, secret, is_shared: false, limits: RwLock::default() }
    }

    /// The same for a store that nodes share: counts of one node alone are told apart there.
    #[must_use]
    pub fn sharing(self) -> Self {
        Self { is_shared: true, ..self }
    }

    /// Writes down what was decided about a set, after so long.
    pub(super) fn record(
        &self,
        set: &Set<'_>,
        decisions: &[Option<Decision>],
        applied: Applied,
        waited: Span,
    ) {
        // In the other cases nothing was asked.
        if !matches!(applied.ruling, Ruling::Admitted | Ruling::Refused) {
            return;
        }
        for (check, decision) in set.checks().iter().zip(decisions) {
            let Some(decision) = decision else { continue };
            match written(check, decision, applied.now) {
                Written::Nothing => {}
                Written::Unclear => self.lose(applied.now, applied.now),
                Written::Entry(entry) => self.write(check, *entry, applied, waited),
            }
        }
    }

    /// Counts what nobody knows the end of.
    pub(super) fn lose(&self, from: Time, until: Time) {
        self.trace.lose(from, until);
    }

    fn write(&self, check: &Check<'_>, entry: Entry, applied: Applied, waited: Span) {
        let is_own = self.is_shared && check.scope() == Scope::Node;
        let Some(rule) = self.rule(check, is_own) else {
            return self.lose(applied.now, applied.now);
        };
        let entry = Entry { rule: rule.as_ref().to_owned(), key: self.key(check, is_own), ..entry };
        self.trace.record(entry.on(&*self.node).by(source(check, applied.by)).waited(waited));
    }

    /// Whose counter, for those who know the secret.
    fn key(&self, check: &Check<'_>, is_own: bool) -> String {
        let digest = blake3::keyed_hash(&self.secret, check.key());
        let bits = digest.as_bytes().first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
        if is_own { format!("{}/{bits:032x}", self.node) } else { format!("{bits:032x}") }
    }

    /// What the rule of a check is called in the trace, which is told of it the first time.
    fn rule(&self, check: &Check<'_>, is_own: bool) -> Option<Arc<str>> {
        let digest = check.limit().name_digest();
        let known = self.limits.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(named) = find(&known, digest, check, is_own) {
            return Some(Arc::clone(&named.rule));
        }
        drop(known);
        let mut known = self.limits.write().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been quicker.
        if let Some(named) = find(&known, digest, check, is_own) {
            return Some(Arc::clone(&named.rule));
        }
        if known.values().map(Vec::len).sum::<usize>() >= MOST_LIMITS {
            return None;
        }
        let (limit, outage) = (check.limit().clone(), check.outage());
        let counter = Some(limit.name().to_owned());
        let spec = RuleSpec { counter, by_node: is_own, ..RuleSpec::of(&limit) };
        let spec = if self.is_shared { spec.with_outage(outage) } else { spec };
        let rule: Arc<str> = name(&limit, &spec).into();
        // Without room for it now there may be later.
        if !self.trace.rule(&*rule, spec) {
            return None;
        }
        let named = Named { limit, outage, is_own, rule: Arc::clone(&rule) };
        known.entry(digest).or_default().push(named);
        Some(rule)
    }
}

fn find<'a>(
    known: &'a HashMap<u64, Vec<Named>>,
    digest: u64,
    check: &Check<'_>,
    is_own: bool,
) -> Option<&'a Named> {
    known.get(&digest)?.iter().find(|named| named.is_of(check, is_own))
}

/// The limit's name, and a mark by which it is told from limits of the same name that are others:
/// the same in every process.
fn name(limit: &Limit, spec: &RuleSpec) -> String {
    let mark = Limit::digest_of_name(&spec.to_string());
    format!("{}#{:06x}", limit.name(), mark >> 40)
}

/// Who answered one check of a set. Without the store, some are answered by the rule alone.
fn source(check: &Check<'_>, by: By) -> Source {
    let unasked = check.scope() == Scope::Cluster && check.outage() != Outage::Local;
    if by == By::Share && unasked { Source::Policy } else { by.into() }
}
