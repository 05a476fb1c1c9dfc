//! Incidents of a run: outages, state losses, clock errors, gaps, the beginning.

use crate::prepared_rule::PreparedRule;
use crate::trace::header::{OutagePolicy, OutageSpan, TraceHeader};
use crate::trace::line_parser::GapLine;

/// The incidents of a run.
#[derive(Debug)]
pub(super) struct Incidents {
    nodes: Option<u32>,
    outages: Vec<OutageSpan>,
    unknown_spans: Vec<UnknownSpan>,
    /// The number of gaps in the trace, and of the entries missing in them.
    gaps: (u64, u64),
    clock_error: u64,
    fresh: bool,
    charged_back: bool,
    /// The time of the first entry.
    began: Option<u64>,
}

/// A time after which less is known than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnknownSpan {
    pub(super) from: u64,
    pub(super) until: u64,
    /// Whether it is a gap of the trace, so that anything may have been counted; otherwise the
    /// store lost its state.
    pub(super) is_gap: bool,
}

/// The incidents as seen by one rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuleIncidents<'a> {
    pub(super) all: &'a Incidents,
    on_store_error: Option<OutagePolicy>,
}

impl Incidents {
    pub(super) fn new(header: TraceHeader) -> Self {
        let TraceHeader { nodes, mut outages, state_losses, clock_error_us, .. } = header;
        outages.sort_unstable();
        let losses = state_losses.iter();
        let lost = losses.map(|loss| (loss.from_us, loss.until_us));
        let mut unknown_spans: Vec<_> =
            lost.map(|(from, until)| UnknownSpan { from, until, is_gap: false }).collect();
        unknown_spans.sort_unstable();
        Self {
            nodes,
            outages,
            unknown_spans,
            gaps: (0, 0),
            clock_error: clock_error_us,
            fresh: header.fresh.unwrap_or(true),
            charged_back: header.charged_back.unwrap_or(true),
            began: None,
        }
    }

    /// Sets the time of the first entry.
    pub(super) fn begin(&mut self, at: u64) {
        self.began.get_or_insert(at);
    }

    pub(super) fn of(&self, rule: &PreparedRule) -> RuleIncidents<'_> {
        RuleIncidents { all: self, on_store_error: rule.on_store_error }
    }

    pub(super) const fn clock_error(&self) -> u64 {
        self.clock_error
    }

    /// Returns the number of nodes in the header.
    pub(super) fn declared_nodes(&self) -> Option<u64> {
        self.nodes.map(u64::from)
    }

    /// Returns the number of nodes that divide a limit among them.
    pub(super) fn nodes(&self) -> u64 {
        self.declared_nodes().unwrap_or(1)
    }

    /// Returns the number of outages begun by `at` whose admissions were not charged back since.
    pub(super) fn outages_by(&self, at: u64) -> u64 {
        let begun = self.outages.partition_point(|outage| outage.from_us <= at) as u64;
        if self.charged_back { begun.min(1) } else { begun }
    }

    /// Returns the beginning of the trace, if counters may not have been empty then.
    pub(super) fn unknown_since(&self) -> Option<u64> {
        self.began.filter(|_| !self.fresh)
    }

    /// Returns the unknown span after the first `seen` ones, if it may have begun by `at`.
    pub(super) fn unknown_span_before(&self, at: u64, seen: usize) -> Option<UnknownSpan> {
        self.unknown_spans.get(seen).copied().filter(|span| span.from <= at)
    }

    /// Adds a gap, when everything up to `reached` has been checked.
    ///
    /// The spans that counters have processed lie before that, so later ones can still be sorted.
    pub(super) fn add_gap(&mut self, gap: GapLine, reached: u64) {
        let (gaps, lost) = self.gaps;
        self.gaps = (gaps + 1, lost.saturating_add(gap.lost));
        let from = gap.from_us.max(reached);
        let span = UnknownSpan { from, until: gap.until_us.max(from), is_gap: true };
        let place = self.unknown_spans.partition_point(|other| other.from <= from);
        self.unknown_spans.insert(place, span);
    }

    /// Returns the number of missing entries.
    pub(super) const fn lost(&self) -> u64 {
        self.gaps.1
    }

    /// Returns the last outage that had begun by `at`.
    fn outage_by(&self, at: u64) -> Option<&OutageSpan> {
        self.outages.iter().rev().find(|outage| outage.from_us <= at)
    }

    /// Returns the latest time at which a request sent at `at` may have reached the store.
    pub(super) fn may_arrive_until(&self, at: u64) -> u64 {
        self.outage_by(at).map_or(at, |outage| outage.until_us.max(at))
    }

    /// Returns notes on what could not be checked.
    pub(super) fn notes(&self, entries: u64, named_nodes: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if entries == 0 {
            notes.push("the trace has no entries, so nothing was checked".to_owned());
        }
        if let (gaps @ 1.., lost) = self.gaps {
            let entries =
                if lost == 1 { "1 entry is".to_owned() } else { format!("{lost} entries are") };
            let gaps = if gaps == 1 { "a gap".to_owned() } else { format!("{gaps} gaps") };
            notes.push(format!(
                "{entries} missing in {gaps} of the trace: they are not checked, and \
                 counters are checked by bounds until they have recovered"
            ));
        }
        if self.clock_error > 0 {
            notes.push(format!(
                "with clocks that may be off by {} us only the admitted units are checked, \
                 not the answers to callers",
                self.clock_error
            ));
        }
        if let Some(nodes) = self.nodes
            && named_nodes > 0
            && (named_nodes as u64) < u64::from(nodes)
        {
            notes.push(format!(
                "{named_nodes} of {nodes} nodes are in the trace: grants to the others \
                 are missing, so correct refusals may be reported as wrong"
            ));
        }
        notes
    }
}

impl RuleIncidents<'_> {
    /// Returns the fallback of this rule while the store is unavailable.
    pub(super) fn policy(&self, at: u64) -> OutagePolicy {
        let of_outage = || self.all.outage_by(at).map(|outage| outage.policy);
        self.on_store_error.or_else(of_outage).unwrap_or_default()
    }
}
