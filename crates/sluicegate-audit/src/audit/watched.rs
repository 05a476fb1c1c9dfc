//! A rule and its counters, as far as a trace has gone.

use std::collections::HashMap;

use super::circumstances::Circumstances;
use super::counter::Counter;
use super::holding::Holding;
use super::ledger::Ledger;
use super::order::Numbered;
use crate::entry::Entry;
use crate::rule::{Kind, Rule};

/// A rule and its counters.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) rule: Rule,
    pub(super) counters: HashMap<String, Watch>,
    pub(super) ledger: Ledger,
}

/// One counter of a rule.
#[derive(Debug)]
pub(super) enum Watch {
    Counted(Box<Counter>),
    Held(Box<Holding>),
    /// Nothing can be said about it.
    Unchecked,
    /// Another rule goes on with it.
    Elsewhere,
}

impl Watched {
    pub(super) fn new(rule: Rule) -> Self {
        let ledger = Ledger::new(&rule.name);
        Self { rule, counters: HashMap::new(), ledger }
    }

    /// Lets another rule go on with the counter of this key; whether there was one.
    pub(super) fn let_go(&mut self, key: &str) -> bool {
        let watches = self.watches(key);
        if watches {
            self.counters.insert(key.to_owned(), Watch::Elsewhere);
        }
        watches
    }

    /// Whether this rule has a counter for this key.
    pub(super) fn watches(&self, key: &str) -> bool {
        !matches!(self.counters.get(key), None | Some(Watch::Elsewhere))
    }

    /// Judges the entries of one counter in one microsecond. A counter that is new here is as it
    /// was when the trace began, unless nothing is known about it since another moment.
    pub(super) fn judge(
        &mut self,
        circumstances: &Circumstances,
        group: &[Numbered],
        unknown_since: Option<u64>,
    ) {
        let Some(Numbered { entry: Entry { key, .. }, .. }) = group.first() else { return };
        if !self.watches(key) {
            let watch = match &self.rule.kind {
                Kind::Counted(counted) => {
                    Watch::Counted(Box::new(Counter::new(counted, circumstances, unknown_since)))
                }
                Kind::Held(held) => {
                    Watch::Held(Box::new(Holding::new(*held, circumstances, unknown_since)))
                }
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
