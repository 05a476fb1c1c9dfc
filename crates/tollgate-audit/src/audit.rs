//! Goes through a trace, entry by entry, and says what was broken.

mod circumstances;
mod counter;
mod holding;
mod ledger;
mod order;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use self::circumstances::Circumstances;
use self::counter::Counter;
use self::holding::Holding;
use self::ledger::Ledger;
use self::order::{Numbered, Order};
use crate::entry::Entry;
use crate::findings::{Findings, Violation, ViolationKind};
use crate::header::{Header, HeaderError};
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

/// A rule and its counters.
#[derive(Debug)]
struct Watched {
    rule: Rule,
    counters: HashMap<String, Watch>,
    ledger: Ledger,
}

/// One counter of a rule.
#[derive(Debug)]
enum Watch {
    Counted(Box<Counter>),
    Held(Box<Holding>),
    /// Nothing can be said about it.
    Unchecked,
}

impl Audit {
    /// An audit of what this header announces.
    pub fn new(header: Header) -> Result<Self, HeaderError> {
        header.check()?;
        let mut rules = BTreeMap::new();
        for (name, spec) in &header.rules {
            let rule = Rule::new(name, spec)?;
            let ledger = Ledger::new(name);
            rules.insert(name.clone(), Watched { rule, counters: HashMap::new(), ledger });
        }
        Ok(Self {
            circumstances: Circumstances::new(header),
            rules,
            order: Order::default(),
            together: Vec::new(),
            waits: Waits::new(WaitBounds::default()),
            named_nodes: BTreeSet::new(),
            entries: 0,
            from: None,
            until: 0,
            others: Ledger::new(""),
        })
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
            let Some(first) = group.first() else { continue };
            match self.rules.get_mut(&first.entry.rule) {
                Some(watched) => watched.judge(&self.circumstances, group),
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
            broken,
            violations,
            notes,
        }
    }
}

impl Watched {
    /// Judges the entries of one counter in one microsecond.
    fn judge(&mut self, circumstances: &Circumstances, group: &[Numbered]) {
        let Some(Numbered { entry: Entry { key, .. }, .. }) = group.first() else { return };
        if !self.counters.contains_key(key) {
            let watch = match &self.rule.kind {
                Kind::Counted(counted) => {
                    Watch::Counted(Box::new(Counter::new(counted, circumstances)))
                }
                Kind::Held(held) => Watch::Held(Box::new(Holding::new(*held, circumstances))),
                Kind::Unchecked(_) => Watch::Unchecked,
            };
            self.counters.insert(key.clone(), watch);
        }
        let entries = group.iter().map(|numbered| &numbered.entry);
        self.ledger.count(entries);
        let scene = circumstances.of(&self.rule);
        match (self.counters.get_mut(key), &self.rule.kind) {
            (Some(Watch::Counted(counter)), Kind::Counted(limit)) => {
                counter.judge(limit, &scene, group, &mut self.ledger);
            }
            (Some(Watch::Held(holding)), _) => holding.judge(&scene, group, &mut self.ledger),
            _ => {}
        }
    }
}
