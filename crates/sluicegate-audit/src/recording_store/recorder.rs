//! The recorder: names rules, hashes keys, and counts entries it cannot write.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use sluicegate::{Applied, DecidedBy};
use sluicegate_core::{Check, Decision, Limit, OnStoreError, Ruling, Scope, Set, Span, Time};

use super::entry_builder::{RecordedCheck, written};
use crate::decision_source::DecisionSource;
use crate::trace::entry::TraceEntry;
use crate::trace::header::RuleSpec;
use crate::trace::writer::TraceWriter;

/// The most limits in a trace. Requests may bring their own quotas, and so any number of limits;
/// entries of limits beyond this count as missing.
const MOST_LIMITS: usize = 4_096;

/// Records decisions in a trace.
///
/// Keys are written as digests, which cannot be linked to callers without the secret. Nodes whose
/// traces are audited together need the same secret, and different names.
pub struct Recorder {
    trace: TraceWriter,
    node: String,
    secret: [u8; 32],
    is_shared: bool,
    limits: RwLock<HashMap<u64, Vec<NamedLimit>>>,
}

/// A limit with its rule in the trace.
struct NamedLimit {
    limit: Limit,
    outage: OnStoreError,
    is_own: bool,
    /// The name of the rule.
    rule: Arc<str>,
}

impl NamedLimit {
    fn is_of(&self, check: &Check<'_>, is_own: bool) -> bool {
        self.outage == check.outage() && self.is_own == is_own && self.limit == *check.limit()
    }
}

/// Without the secret, which would allow linking callers to their digests.
impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("node", &self.node)
            .field("is_shared", &self.is_shared)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Creates a recorder for this node, with keys as digests under this secret.
    pub fn new(trace: TraceWriter, node: impl Into<String>, secret: [u8; 32]) -> Self {
        let node = node.into();
        Self { trace, node, secret, is_shared: false, limits: RwLock::default() }
    }

    /// Returns a recorder for a shared store, which distinguishes counters of one node.
    #[must_use]
    pub fn sharing(self) -> Self {
        Self { is_shared: true, ..self }
    }

    /// Records the decisions of a set, and the time they took.
    pub(super) fn record(
        &self,
        set: &Set<'_>,
        decisions: &[Option<Decision>],
        applied: Applied,
        waited: Span,
    ) {
        // For other rulings nothing was evaluated.
        if !matches!(applied.ruling, Ruling::Admitted | Ruling::Refused) {
            return;
        }
        for (check, decision) in set.checks().iter().zip(decisions) {
            let Some(decision) = decision else { continue };
            match written(check, decision, applied.now) {
                RecordedCheck::Nothing => {}
                RecordedCheck::Unclear => self.lose(applied.now, applied.now),
                RecordedCheck::Entry(entry) => self.write(check, *entry, applied, waited),
            }
        }
    }

    /// Counts a request with an unknown outcome.
    pub(super) fn lose(&self, from: Time, until: Time) {
        self.trace.lose(from, until);
    }

    fn write(&self, check: &Check<'_>, entry: TraceEntry, applied: Applied, waited: Span) {
        let is_own = self.is_shared && check.scope() == Scope::Node;
        let Some(rule) = self.rule(check, is_own) else {
            return self.lose(applied.now, applied.now);
        };
        let entry =
            TraceEntry { rule: rule.as_ref().to_owned(), key: self.key(check, is_own), ..entry };
        self.trace.record(entry.on(&*self.node).by(source(check, applied.by)).waited(waited));
    }

    /// Returns the digest of the counter's key.
    fn key(&self, check: &Check<'_>, is_own: bool) -> String {
        let digest = blake3::keyed_hash(&self.secret, check.key());
        let bits = digest.as_bytes().first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
        if is_own { format!("{}/{bits:032x}", self.node) } else { format!("{bits:032x}") }
    }

    /// Returns the name of a check's rule in the trace, which is written on first use.
    fn rule(&self, check: &Check<'_>, is_own: bool) -> Option<Arc<str>> {
        let digest = check.limit().name_digest();
        let known = self.limits.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(named) = find(&known, digest, check, is_own) {
            return Some(Arc::clone(&named.rule));
        }
        drop(known);
        let mut known = self.limits.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have added it.
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
        // There is no room for it now, but there may be later.
        if !self.trace.rule(&*rule, spec) {
            return None;
        }
        let named = NamedLimit { limit, outage, is_own, rule: Arc::clone(&rule) };
        known.entry(digest).or_default().push(named);
        Some(rule)
    }
}

fn find<'a>(
    known: &'a HashMap<u64, Vec<NamedLimit>>,
    digest: u64,
    check: &Check<'_>,
    is_own: bool,
) -> Option<&'a NamedLimit> {
    known.get(&digest)?.iter().find(|named| named.is_of(check, is_own))
}

/// Returns the limit's name with a digest of its settings.
///
/// The digest distinguishes limits of the same name, and is the same in every process.
fn name(limit: &Limit, spec: &RuleSpec) -> String {
    let mark = Limit::digest_of_name(&spec.to_string());
    format!("{}#{:06x}", limit.name(), mark >> 40)
}

/// Returns the source of a decision in a set; without the store, some come from the fallback.
fn source(check: &Check<'_>, by: DecidedBy) -> DecisionSource {
    let idle = check.scope() == Scope::Cluster && check.outage() != OnStoreError::Local;
    if by == DecidedBy::Share && idle { DecisionSource::Policy } else { by.into() }
}
