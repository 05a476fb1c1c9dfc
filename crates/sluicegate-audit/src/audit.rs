//! The audit of a trace: checks each entry and collects violations.

mod concurrency_checker;
mod incidents;
mod quota_checker;
mod reorder_buffer;
mod rule_state;
mod rule_tally;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use self::incidents::Incidents;
use self::reorder_buffer::{ReorderBuffer, SequencedEntry};
use self::rule_state::RuleState;
use self::rule_tally::RuleTally;
use crate::findings::{Findings, Violation, ViolationKind};
use crate::latency::{Latency, LatencyBounds};
use crate::prepared_rule::{PreparedRule, RuleKind};
use crate::trace::entry::TraceEntry;
use crate::trace::header::{HeaderError, RuleSpec, TraceHeader};
use crate::trace::line_parser::GapLine;

/// Checks a trace, entry by entry.
///
/// Entries may come in any order, as long as each is within 65,536 others of its place in time.
/// Memory is bounded for each key: by one counter, or for windows that store their admissions by
/// as many entries as they allow units.
#[derive(Debug)]
pub struct Audit {
    incidents: Incidents,
    rules: BTreeMap<String, RuleState>,
    /// Rules that share counters, by counter name.
    families: HashMap<String, Vec<String>>,
    order: ReorderBuffer,
    /// Entries of the same microsecond, whose order is not known.
    together: Vec<SequencedEntry>,
    waits: Latency,
    named_nodes: BTreeSet<String>,
    entries: u64,
    from: Option<u64>,
    until: u64,
    /// Findings that belong to no rule.
    others: RuleTally,
}

impl Audit {
    /// Creates an audit of a trace with this header.
    pub fn new(header: TraceHeader) -> Result<Self, HeaderError> {
        header.check()?;
        let rules = header.rules.clone();
        let mut audit = Self {
            incidents: Incidents::new(header),
            rules: BTreeMap::new(),
            families: HashMap::new(),
            order: ReorderBuffer::default(),
            together: Vec::new(),
            waits: Latency::new(LatencyBounds::default()),
            named_nodes: BTreeSet::new(),
            entries: 0,
            from: None,
            until: 0,
            others: RuleTally::new(""),
        };
        rules.iter().try_for_each(|(name, spec)| audit.add_rule(name, spec))?;
        Ok(audit)
    }

    /// Adds a rule for the entries that follow.
    pub fn add_rule(&mut self, name: &str, spec: &RuleSpec) -> Result<(), HeaderError> {
        if let Some(known) = self.rules.get(name) {
            let known = &known.rule.spec;
            return if known == spec {
                Ok(())
            } else {
                Err(HeaderError::differs(name, spec, known))
            };
        }
        let rule = PreparedRule::new(name, spec)?;
        self.families.entry(rule.family().to_owned()).or_default().push(name.to_owned());
        self.rules.insert(name.to_owned(), RuleState::new(rule));
        Ok(())
    }

    /// Adds a gap of `lost` entries with times from `from_us` until `until_us`.
    ///
    /// It has to be added before the entries that follow it.
    pub fn gap(&mut self, lost: u64, from_us: u64, until_us: u64) {
        let gap = GapLine { lost, from_us, until_us };
        self.incidents.add_gap(gap, self.order.reached());
    }

    /// Returns the audit with latency bounds.
    #[must_use]
    pub fn with_latency_bounds(self, bounds: LatencyBounds) -> Self {
        Self { waits: Latency::new(bounds), ..self }
    }

    /// Returns whether the header has a rule of this name.
    pub fn knows(&self, rule: &str) -> bool {
        self.rules.contains_key(rule)
    }

    /// Adds one entry.
    pub fn add(&mut self, entry: TraceEntry) {
        let line = self.entries + 1;
        self.buffer_entry(entry, None, line);
    }

    /// Adds one entry of a file.
    pub fn add_from(&mut self, entry: TraceEntry, file: &Arc<str>, line: u64) {
        self.buffer_entry(entry, Some(Arc::clone(file)), line);
    }

    fn buffer_entry(&mut self, entry: TraceEntry, file: Option<Arc<str>>, line: u64) {
        self.entries += 1;
        let sequenced = Box::new(SequencedEntry { count: self.entries, file, line, entry });
        match self.order.put(sequenced) {
            Ok(None) => {}
            Ok(Some(next)) => self.follow(*next),
            Err(late) => {
                let what = "came too late to be put in order; sort the trace by `at`";
                self.others.report(late.violation(ViolationKind::OutOfOrder, what.to_owned()));
            }
        }
    }

    /// Processes the next entry in order of time.
    fn follow(&mut self, next: SequencedEntry) {
        if self.together.last().is_some_and(|last| last.entry.at != next.entry.at) {
            self.check_group();
        }
        self.together.push(next);
    }

    /// Checks the entries of one microsecond, counter by counter.
    fn check_group(&mut self) {
        let mut together = std::mem::take(&mut self.together);
        for sequenced in &together {
            self.note(sequenced);
        }
        together.sort_by(|a, b| a.counter().cmp(&b.counter()));
        for group in together.chunk_by(|a, b| a.counter() == b.counter()) {
            let Some(SequencedEntry { entry: first, .. }) = group.first() else { continue };
            let unknown_since = self.moves(&first.rule, &first.key).then_some(first.at);
            match self.rules.get_mut(&first.rule) {
                Some(rule_state) => rule_state.check_group(&self.incidents, group, unknown_since),
                None => group.iter().for_each(|sequenced| {
                    let what = "is of a rule that is not in the header; name it there";
                    let what = what.to_owned();
                    self.others.report(sequenced.violation(ViolationKind::UnknownRule, what));
                }),
            }
        }
        together.clear();
        self.together = together;
    }

    /// Returns whether a counter moves to this rule from another that shares it.
    ///
    /// This happens when a caller's quota has changed. Its exact usage is then unknown.
    fn moves(&mut self, rule: &str, key: &str) -> bool {
        let Some(rule_state) = self.rules.get(rule) else { return false };
        if rule_state.has_key(key) {
            return false;
        }
        let Some(family) = self.families.get(rule_state.rule.family()) else { return false };
        let others = family.iter().filter(|other| *other != rule);
        let mut moved = false;
        for other in others {
            moved |= self.rules.get_mut(other).is_some_and(|rule_state| rule_state.remove(key));
        }
        moved
    }

    /// Records the facts of an entry other than its decision.
    fn note(&mut self, sequenced: &SequencedEntry) {
        let entry = &sequenced.entry;
        self.incidents.begin(entry.at);
        self.from.get_or_insert(entry.at);
        self.until = self.until.max(entry.at);
        if !entry.node.is_empty() && !self.named_nodes.contains(&entry.node) {
            self.named_nodes.insert(entry.node.clone());
            if let Some(nodes) = self.incidents.declared_nodes()
                && self.named_nodes.len() as u64 > nodes
            {
                let what = format!(
                    "is of one node more than the {nodes} that the header names; \
                     shares are divided by that number"
                );
                self.others.report(sequenced.violation(ViolationKind::TooManyNodes, what));
            }
        }
        if let Some(what) = entry.waited_us.and_then(|waited| self.waits.add(waited)) {
            let violation = sequenced.violation(ViolationKind::WaitedTooLong, what);
            match self.rules.get_mut(&entry.rule) {
                Some(rule_state) => rule_state.tally.report(violation),
                None => self.others.report(violation),
            }
        }
    }

    /// Returns all findings.
    #[must_use]
    pub fn finish(mut self) -> Findings {
        while let Some(next) = self.order.take() {
            self.follow(*next);
        }
        self.check_group();
        let mut notes = self.incidents.notes(self.entries, self.named_nodes.len());
        let mut violations = Vec::new();
        let mut rules = Vec::new();
        let mut broken = 0;
        for RuleState { rule, counters, tally } in self.rules.into_values() {
            if let (RuleKind::Unchecked(why), false) = (&rule.kind, counters.is_empty()) {
                notes.push(format!("the rule `{}` is not checked: {why}", rule.name));
            }
            notes.extend(tally.note());
            let (found, shown) = tally.findings(&rule, counters.len());
            broken += found.broken;
            violations.extend(shown);
            rules.push(found);
        }
        if let Some(what) = self.waits.too_many() {
            self.others.report(Violation {
                kind: ViolationKind::WaitedTooLong,
                rule: String::new(),
                key: String::new(),
                node: String::new(),
                at_us: self.until,
                file: None,
                line: self.entries,
                what,
            });
        }
        broken += self.others.broken();
        violations.extend(self.others.into_violations());
        Findings {
            ok: broken == 0,
            entries: self.entries,
            from_us: self.from.unwrap_or(0),
            until_us: self.until,
            nodes: self.named_nodes.len(),
            rules,
            waits: self.waits.findings(),
            lost: self.incidents.lost(),
            broken,
            violations,
            notes,
        }
    }
}
