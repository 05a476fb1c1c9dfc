//! A rule and its counters during an audit.

use std::collections::HashMap;

use super::concurrency_checker::ConcurrencyChecker;
use super::incidents::Incidents;
use super::quota_checker::QuotaChecker;
use super::reorder_buffer::SequencedEntry;
use super::rule_tally::RuleTally;
use crate::prepared_rule::{PreparedRule, RuleKind};
use crate::trace::entry::TraceEntry;

/// A rule and its counters.
#[derive(Debug)]
pub(super) struct RuleState {
    pub(super) rule: PreparedRule,
    pub(super) counters: HashMap<String, RuleCounters>,
    pub(super) tally: RuleTally,
}

/// The counters of a rule.
#[derive(Debug)]
pub(super) enum RuleCounters {
    Counted(Box<QuotaChecker>),
    Held(Box<ConcurrencyChecker>),
    /// The rule cannot be checked.
    Unchecked,
    /// Another rule has taken over the counter.
    Elsewhere,
}

impl RuleState {
    pub(super) fn new(rule: PreparedRule) -> Self {
        let tally = RuleTally::new(&rule.name);
        Self { rule, counters: HashMap::new(), tally }
    }

    /// Hands the counter of this key to another rule; returns whether it existed.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let has_key = self.has_key(key);
        if has_key {
            self.counters.insert(key.to_owned(), RuleCounters::Elsewhere);
        }
        has_key
    }

    /// Returns whether this rule has a counter for this key.
    pub(super) fn has_key(&self, key: &str) -> bool {
        !matches!(self.counters.get(key), None | Some(RuleCounters::Elsewhere))
    }

    /// Checks the entries of one counter in one microsecond.
    ///
    /// A new counter has the state of the beginning of the trace, unless its usage is unknown
    /// since another time.
    pub(super) fn check_group(
        &mut self,
        incidents: &Incidents,
        group: &[SequencedEntry],
        unknown_since: Option<u64>,
    ) {
        let Some(SequencedEntry { entry: TraceEntry { key, .. }, .. }) = group.first() else {
            return;
        };
        if !self.has_key(key) {
            let counters = match &self.rule.kind {
                RuleKind::Counted(rule) => RuleCounters::Counted(Box::new(QuotaChecker::new(
                    rule,
                    incidents,
                    unknown_since,
                ))),
                RuleKind::Held(rule) => RuleCounters::Held(Box::new(ConcurrencyChecker::new(
                    *rule,
                    incidents,
                    unknown_since,
                ))),
                RuleKind::Unchecked(_) => RuleCounters::Unchecked,
            };
            self.counters.insert(key.clone(), counters);
        }
        let entries = group.iter().map(|sequenced| &sequenced.entry);
        self.tally.count(entries);
        let incidents = incidents.of(&self.rule);
        match (self.counters.get_mut(key), &self.rule.kind) {
            (Some(RuleCounters::Counted(checker)), RuleKind::Counted(rule)) => {
                checker.check_group(rule, &incidents, group, &mut self.tally);
            }
            (Some(RuleCounters::Held(checker)), _) => {
                checker.check_group(&incidents, group, &mut self.tally);
            }
            _ => {}
        }
    }
}
