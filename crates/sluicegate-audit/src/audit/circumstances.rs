//! What happened around the decisions of a trace: outages, losses, clocks, how it began.

use crate::header::{Header, OnStoreError, Outage};
use crate::line::Gap;
use crate::rule::Rule;

/// What happened around the decisions.
#[derive(Debug)]
pub(super) struct Circumstances {
    nodes: Option<u32>,
    outages: Vec<Outage>,
    blanks: Vec<Blank>,
    /// How many gaps there are in the trace, and how many entries are missing in them.
    gaps: (u64, u64),
    clock_error: u64,
    fresh: bool,
    charged_back: bool,
    /// The time of the first entry.
    began: Option<u64>,
}

/// A time after which less is known than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blank {
    pub(super) from: u64,
    pub(super) until: u64,
    /// Whether the trace has a gap there, so that anything may have been counted; else the store
    /// lost what it had counted.
    pub(super) is_gap: bool,
}

/// The circumstances of one rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) all: &'a Circumstances,
    on_store_error: Option<OnStoreError>,
}

impl Circumstances {
    pub(super) fn new(header: Header) -> Self {
        let Header { nodes, mut outages, state_losses, clock_error_us, .. } = header;
        outages.sort_unstable();
        let losses = state_losses.iter();
        let lost = losses.map(|loss| (loss.from_us, loss.until_us));
        let mut blanks: Vec<_> =
            lost.map(|(from, until)| Blank { from, until, is_gap: false }).collect();
        blanks.sort_unstable();
        Self {
            nodes,
            outages,
            blanks,
            gaps: (0, 0),
            clock_error: clock_error_us,
            fresh: header.fresh.unwrap_or(true),
            charged_back: header.charged_back.unwrap_or(true),
            began: None,
        }
    }

    /// The first entry is of this time.
    pub(super) fn begin(&mut self, at: u64) {
        self.began.get_or_insert(at);
    }

    pub(super) fn of(&self, rule: &Rule) -> Scene<'_> {
        Scene { all: self, on_store_error: rule.on_store_error }
    }

    pub(super) const fn clock_error(&self) -> u64 {
        self.clock_error
    }

    /// How many nodes the header says there are.
    pub(super) fn said_nodes(&self) -> Option<u64> {
        self.nodes.map(u64::from)
    }

    /// How many nodes divide a limit among them.
    pub(super) fn nodes(&self) -> u64 {
        self.said_nodes().unwrap_or(1)
    }

    /// How many outages had begun by then for whose budgets nothing has been charged since.
    pub(super) fn outages_by(&self, at: u64) -> u64 {
        let begun = self.outages.partition_point(|outage| outage.from_us <= at) as u64;
        if self.charged_back { begun.min(1) } else { begun }
    }

    /// When the trace began, if counters may not have been empty then.
    pub(super) fn unknown_since(&self) -> Option<u64> {
        self.began.filter(|_| !self.fresh)
    }

    /// The blank after the first `seen` ones, if it may have begun by `at`.
    pub(super) fn blank_by(&self, at: u64, seen: usize) -> Option<Blank> {
        self.blanks.get(seen).copied().filter(|blank| blank.from <= at)
    }

    /// Takes in a gap, where everything up to `reached` has been judged. What counters have
    /// passed lies before that, so what comes later may still be put in order.
    pub(super) fn learn_gap(&mut self, gap: Gap, reached: u64) {
        let (gaps, lost) = self.gaps;
        self.gaps = (gaps + 1, lost.saturating_add(gap.lost));
        let from = gap.from_us.max(reached);
        let blank = Blank { from, until: gap.until_us.max(from), is_gap: true };
        let place = self.blanks.partition_point(|other| other.from <= from);
        self.blanks.insert(place, blank);
    }

    /// How many entries are missing.
    pub(super) const fn lost(&self) -> u64 {
        self.gaps.1
    }

    /// The last outage that had begun by then.
    fn outage_by(&self, at: u64) -> Option<&Outage> {
        self.outages.iter().rev().find(|outage| outage.from_us <= at)
    }

    /// When a request that was sent to the store at `at` may have arrived there at the latest.
    pub(super) fn may_arrive_until(&self, at: u64) -> u64 {
        self.outage_by(at).map_or(at, |outage| outage.until_us.max(at))
    }

    /// What limits what can be said.
    pub(super) fn notes(&self, entries: u64, named_nodes: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if entries == 0 {
            notes.push("there is not one entry, so nothing was checked".to_owned());
        }
        if let (gaps @ 1.., lost) = self.gaps {
            let entries =
                if lost == 1 { "1 entry is".to_owned() } else { format!("{lost} entries are") };
            let gaps = if gaps == 1 { "a gap".to_owned() } else { format!("{gaps} gaps") };
            notes.push(format!(
                "{entries} missing in {gaps} of the trace: nothing is said about those, and \
                 counters are held to what is certain until they have recovered"
            ));
        }
        if self.clock_error > 0 {
            notes.push(format!(
                "with clocks that may be off by {} us only what was admitted is checked, \
                 not what callers were told",
                self.clock_error
            ));
        }
        if let Some(nodes) = self.nodes
            && named_nodes > 0
            && (named_nodes as u64) < u64::from(nodes)
        {
            notes.push(format!(
                "{named_nodes} of {nodes} nodes are in the trace: what the others were granted \
                 is missing, and refusals may look wrong for it"
            ));
        }
        notes
    }
}

impl Scene<'_> {
    /// What becomes of a request of this rule while the store is away.
    pub(super) fn policy(&self, at: u64) -> OnStoreError {
        let of_outage = || self.all.outage_by(at).map(|outage| outage.policy);
        self.on_store_error.or_else(of_outage).unwrap_or_default()
    }
}
