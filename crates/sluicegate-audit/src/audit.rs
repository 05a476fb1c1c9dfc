//! Goes through a trace, entry by entry, and says what was broken.

mod circumstances;
mod counter;
mod holding;
mod ledger;
mod order;
mod watched;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use self::circumstances::Circumstances;
use self::ledger::Ledger;
use self::order::{Numbered, Order};
use self::watched::Watched;
use crate::entry::Entry;
use crate::findings::{Findings, Violation, ViolationKind};
use crate::header::{Header, HeaderError, RuleSpec};
use crate::line::Gap;
use crate::rule::{Kind, Rule};
use crate::waits::{WaitBounds, Waits};

/// Goes through a trace, entry by entry.
///
/// Entries may come in any order, as long as each comes within 65,536 others of its place in
/// time. Memory is bounded for each key: by one counter, or for windows that remember what they
/// admitted by as many entries as they allow units.
#[derive(Debug)]
pub struct Audit {
    circumstances: Circumstances,
    rules: BTreeMap<String, Watched>,
    /// Rules that share their counters, by what those are filed under.
    families: HashMap<String, Vec<String>>,
    order: Order,
    /// Entries of one microsecond, which may have been decided in any order.
    together: Vec<Numbered>,
    waits: Waits,
    named_nodes: BTreeSet<String>,
    entries: u64,
    from: Option<u64>,
    until: u64,
    /// What belongs to no rule.
    others: Ledger,
}

impl Audit {
    /// An audit of what this header announces.
    pub fn new(header: Header) -> Result<Self, HeaderError> {
        header.check()?;
        let rules = header.rules.clone();
        let mut audit = Self {
            circumstances: Circumstances::new(header),
            rules: BTreeMap::new(),
            families: HashMap::new(),
            order: Order::default(),
            together: Vec::new(),
            waits: Waits::new(WaitBounds::default()),
            named_nodes: BTreeSet::new(),
            entries: 0,
            from: None,
            until: 0,
            others: Ledger::new(""),
        };
        rules.iter().try_for_each(|(name, spec)| audit.learn(name, spec))?;
        Ok(audit)
    }

    /// Takes in a rule that entries from now on may name.
    pub fn learn(&mut self, name: &str, spec: &RuleSpec) -> Result<(), HeaderError> {
        if let Some(known) = self.rules.get(name) {
            let known = &known.rule.spec;
            return if known == spec {
                Ok(())
            } else {
                Err(HeaderError::differs(name, spec, known))
            };
        }
        let rule = Rule::new(name, spec)?;
        self.families.entry(rule.family().to_owned()).or_default().push(name.to_owned());
        self.rules.insert(name.to_owned(), Watched::new(rule));
        Ok(())
    }

    /// Takes in that `lost` entries are missing, of moments from `from_us` until `until_us`:
    /// before those that come after them.
    pub fn gap(&mut self, lost: u64, from_us: u64, until_us: u64) {
        let gap = Gap { lost, from_us, until_us };
        self.circumstances.learn_gap(gap, self.order.reached());
    }

    /// The same, which also holds answers to how long they may take.
    #[must_use]
    pub fn waits_within(self, bounds: WaitBounds) -> Self {
        Self { waits: Waits::new(bounds), ..self }
    }

    /// Whether the header has a rule of this name.
    pub fn knows(&self, rule: &str) -> bool {
        self.rules.contains_key(rule)
    }

    /// Takes in one entry.
    pub fn add(&mut self, entry: Entry) {
        let line = self.entries + 1;
        self.take_in(entry, None, line);
    }

    /// Takes in one entry of a file.
    pub fn add_from(&mut self, entry: Entry, file: &Arc<str>, line: u64) {
        self.take_in(entry, Some(Arc::clone(file)), line);
    }

    fn take_in(&mut self, entry: Entry, file: Option<Arc<str>>, line: u64) {
        self.entries += 1;
        let numbered = Box::new(Numbered { count: self.entries, file, line, entry });
        match self.order.put(numbered) {
            Ok(None) => {}
            Ok(Some(next)) => self.follow(*next),
            Err(late) => {
                let what = "came too late to be put in order; sort the trace by `at`";
                self.others.report(late.violation(ViolationKind::OutOfOrder, what.to_owned()));
            }
        }
    }

    /// The next entry in order of time.
    fn follow(&mut self, next: Numbered) {
        if self.together.last().is_some_and(|last| last.entry.at != next.entry.at) {
            self.judge();
        }
        self.together.push(next);
    }

    /// Judges the entries of one microsecond, counter by counter.
    fn judge(&mut self) {
        let mut together = std::mem::take(&mut self.together);
        for numbered in &together {
            self.note(numbered);
        }
        together.sort_by(|a, b| a.counter().cmp(&b.counter()));
        for group in together.chunk_by(|a, b| a.counter() == b.counter()) {
            let Some(Numbered { entry: first, .. }) = group.first() else { continue };
            let unknown_since = self.moves(&first.rule, &first.key).then_some(first.at);
            match self.rules.get_mut(&first.rule) {
                Some(watched) => watched.judge(&self.circumstances, group, unknown_since),
                None => group.iter().for_each(|numbered| {
                    let what = "is of a rule that is not in the header; name it there";
                    let what = what.to_owned();
                    self.others.report(numbered.violation(ViolationKind::UnknownRule, what));
                }),
            }
        }
        together.clear();
        self.together = together;
    }

    /// Whether a counter moves to this rule from another that shares it: a caller's quota has
    /// changed. How much it has used is not exactly known then.
    fn moves(&mut self, rule: &str, key: &str) -> bool {
        let Some(watched) = self.rules.get(rule) else { return false };
        if watched.watches(key) {
            return false;
        }
        let Some(family) = self.families.get(watched.rule.family()) else { return false };
        let others = family.iter().filter(|other| *other != rule);
        let mut moved = false;
        for other in others {
            moved |= self.rules.get_mut(other).is_some_and(|watched| watched.let_go(key));
        }
        moved
    }

    /// What an entry says beside its decision.
    fn note(&mut self, numbered: &Numbered) {
        let entry = &numbered.entry;
        self.circumstances.begin(entry.at);
        self.from.get_or_insert(entry.at);
        self.until = self.until.max(entry.at);
        if !entry.node.is_empty() && !self.named_nodes.contains(&entry.node) {
            self.named_nodes.insert(entry.node.clone());
            if let Some(nodes) = self.circumstances.said_nodes()
                && self.named_nodes.len() as u64 > nodes
            {
                let what = format!(
                    "is of one node more than the {nodes} that the header names; \
                     shares are divided by that number"
                );
                self.others.report(numbered.violation(ViolationKind::TooManyNodes, what));
            }
        }
        if let Some(what) = entry.waited_us.and_then(|waited| self.waits.add(waited)) {
            let violation = numbered.violation(ViolationKind::WaitedTooLong, what);
            match self.rules.get_mut(&entry.rule) {
                Some(watched) => watched.ledger.report(violation),
                None => self.others.report(violation),
            }
        }
    }

    /// Everything that was found.
    #[must_use]
    pub fn finish(mut self) -> Findings {
        while let Some(next) = self.order.take() {
            self.follow(*next);
        }
        self.judge();
        let mut notes = self.circumstances.notes(self.entries, self.named_nodes.len());
        let mut violations = Vec::new();
        let mut rules = Vec::new();
        let mut broken = 0;
        for Watched { rule, counters, ledger } in self.rules.into_values() {
            if let (Kind::Unchecked(why), false) = (&rule.kind, counters.is_empty()) {
                notes.push(format!("the rule `{}` is not checked: {why}", rule.name));
            }
            notes.extend(ledger.note());
            let (found, shown) = ledger.findings(&rule, counters.len());
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
            lost: self.circumstances.lost(),
            broken,
            violations,
            notes,
        }
    }
}
