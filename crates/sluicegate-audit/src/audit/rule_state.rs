//! A rule and its counters during an audit.

use std::collections::HashMap;

use super::concurrency_counter::ConcurrencyCounter;
use super::incidents::Incidents;
use super::quota_counter::QuotaCounter;
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
    Counted(Box<QuotaCounter>),
    Held(Box<ConcurrencyCounter>),
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
            let watch =
                match &self.rule.kind {
                    RuleKind::Counted(counted) => RuleCounters::Counted(Box::new(
                        QuotaCounter::new(counted, incidents, unknown_since),
                    )),
                    RuleKind::Held(held) => RuleCounters::Held(Box::new(ConcurrencyCounter::new(
                        *held,
                        incidents,
                        unknown_since,
                    ))),
                    RuleKind::Unchecked(_) => RuleCounters::Unchecked,
                };
            self.counters.insert(key.clone(), watch);
        }
        let entries = group.iter().map(|numbered| &numbered.entry);
        self.tally.count(entries);
        let incidents = incidents.of(&self.rule);
        match (self.counters.get_mut(key), &self.rule.kind) {
            (Some(RuleCounters::Counted(counter)), RuleKind::Counted(limit)) => {
                counter.check_group(limit, &incidents, group, &mut self.tally);
            }
            (Some(RuleCounters::Held(holding)), _) => {
                holding.check_group(&incidents, group, &mut self.tally);
            }
            _ => {}
        }
    }
}
