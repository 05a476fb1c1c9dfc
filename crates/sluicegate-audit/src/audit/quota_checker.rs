//! Checks one counter of a limit whose units recover with time.

use std::cmp::Reverse;

use super::incidents::{Incidents, RuleIncidents};
use super::reorder_buffer::SequencedEntry;
use super::rule_tally::RuleTally;
use crate::bounds::{BoundChecker, TimeInterval};
use crate::decision_source::DecisionSource;
use crate::findings::ViolationKind;
use crate::prepared_rule::QuotaRule;
use crate::reference_limiter::{Discrepancy, ReferenceLimiter};
use crate::trace::entry::{TraceEntry, TraceEvent};
use crate::trace::header::OutagePolicy;

/// Checks one counter by its admissions, and by an exact limiter to compare with.
#[derive(Debug)]
pub(super) struct QuotaChecker {
    /// The admissions of the store.
    store: BoundChecker,
    /// All admissions, with and without the store; `None` while they are the same.
    all: Option<Box<BoundChecker>>,
    reference: ReferenceLimiter,
    unknown_spans_seen: usize,
    /// Units requested while the store was unavailable that may still reach it, and until when.
    in_transit: Option<(u64, u64)>,
}

impl QuotaChecker {
    /// Creates the checker of a counter that was empty when the trace began.
    ///
    /// With `unknown_since`, or an unknown beginning of the trace, its usage is unknown since
    /// then.
    pub(super) fn new(rule: &QuotaRule, incidents: &Incidents, unknown_since: Option<u64>) -> Self {
        let reference = match unknown_since.or_else(|| incidents.unknown_since()) {
            Some(began) => ReferenceLimiter::unknown(&rule.limit, began),
            None => ReferenceLimiter::default(),
        };
        Self {
            store: BoundChecker::new(rule.bound, incidents.clock_error()),
            all: None,
            reference,
            unknown_spans_seen: 0,
            in_transit: None,
        }
    }

    /// Checks the entries of this counter in one microsecond.
    pub(super) fn check_group(
        &mut self,
        rule: &QuotaRule,
        incidents: &RuleIncidents<'_>,
        group: &[SequencedEntry],
        tally: &mut RuleTally,
    ) {
        let Some(SequencedEntry { entry: TraceEntry { at, .. }, .. }) = group.first() else {
            return;
        };
        self.catch_up(rule, incidents, *at);
        let mut check = GroupCheck { checker: self, rule, incidents, tally };
        let only_decisions = group.iter().all(|sequenced| sequenced.entry.event.is_decision());
        if group.len() == 1 || !only_decisions {
            for sequenced in group {
                check.check_entry(sequenced);
            }
        } else {
            check.check_concurrent(group);
        }
    }

    /// Applies incidents since the last check of this counter.
    fn catch_up(&mut self, rule: &QuotaRule, incidents: &RuleIncidents<'_>, at: u64) {
        while let Some(span) = incidents.all.unknown_span_before(at, self.unknown_spans_seen) {
            let then = span.until.min(at);
            self.store.reset();
            self.reference.may_have_been_forgotten(&rule.limit, then);
            if span.is_gap {
                let all = rule.limit.capacity().saturating_mul(2);
                self.reference.may_have_been_charged(&rule.limit, then, all);
                self.all = None;
            } else if let Some(all) = &mut self.all {
                all.refund(all.budget());
            }
            if at <= span.until {
                break;
            }
            self.unknown_spans_seen += 1;
        }
        if let Some((until, units)) = self.in_transit.take_if(|(until, _)| *until <= at) {
            self.reference.may_have_been_charged(&rule.limit, until, units);
        }
    }

    /// Adds units of requests without an answer, which may reach the store now or later.
    fn may_have_arrived(
        &mut self,
        rule: &QuotaRule,
        incidents: &RuleIncidents<'_>,
        entry: &TraceEntry,
    ) {
        self.reference.may_have_been_charged(&rule.limit, entry.at, entry.cost);
        let until = incidents.all.may_arrive_until(entry.at);
        if until > entry.at {
            let (latest, units) = self.in_transit.get_or_insert((until, 0));
            *latest = (*latest).max(until);
            *units = units.saturating_add(entry.cost);
        }
    }
}

/// The check of the entries of one counter in one microsecond.
struct GroupCheck<'a> {
    checker: &'a mut QuotaChecker,
    rule: &'a QuotaRule,
    incidents: &'a RuleIncidents<'a>,
    tally: &'a mut RuleTally,
}

impl GroupCheck<'_> {
    fn check_entry(&mut self, sequenced: &SequencedEntry) {
        let SequencedEntry { entry, .. } = sequenced;
        let QuotaChecker { store, all, reference, .. } = &mut *self.checker;
        match entry.event {
            TraceEvent::Decision if entry.allowed => self.admit(sequenced),
            TraceEvent::Decision => self.refuse(sequenced),
            TraceEvent::Charge => reference.charge(&self.rule.limit, entry.at, entry.cost),
            TraceEvent::Refund | TraceEvent::Release if entry.allowed => {
                store.refund(entry.cost);
                if let Some(all) = all {
                    all.refund(entry.cost);
                }
                reference.may_have_been_forgotten(&self.rule.limit, entry.at);
            }
            TraceEvent::Reset => {
                store.reset();
                if let Some(all) = all {
                    all.refund(all.budget());
                }
                reference.reset();
            }
            TraceEvent::Refund | TraceEvent::Release | TraceEvent::Renew => {}
        }
    }

    /// Checks decisions of one microsecond, in the order that `remaining` suggests.
    fn check_concurrent(&mut self, group: &[SequencedEntry]) {
        let (mut allowed, refused): (Vec<_>, Vec<_>) =
            group.iter().partition(|sequenced| sequenced.entry.allowed);
        allowed.sort_by_key(|SequencedEntry { entry, .. }| {
            (Reverse(entry.remaining), entry.delay_us, Reverse(entry.cost))
        });
        let before = self.checker.reference.clone();
        for sequenced in &allowed {
            self.admit(sequenced);
        }
        // Most were refused after the last admission, the others before one of the admissions.
        let refused = refused.into_iter();
        let wrong: Vec<_> =
            refused.filter_map(|sequenced| Some((sequenced, self.compare(sequenced)?))).collect();
        if wrong.is_empty() {
            return;
        }
        let after = std::mem::replace(&mut self.checker.reference, before);
        let still = self.unexplained_along(&allowed, wrong);
        self.checker.reference = after;
        for (sequenced, wrong) in still {
            self.report(sequenced, wrong);
        }
    }

    /// Returns the refusals that no position between the admissions explains.
    fn unexplained_along<'n>(
        &mut self,
        allowed: &[&SequencedEntry],
        mut unexplained: Vec<(&'n SequencedEntry, Discrepancy)>,
    ) -> Vec<(&'n SequencedEntry, Discrepancy)> {
        let limit = &self.rule.limit;
        let reference = &mut self.checker.reference;
        for sequenced in
            allowed.iter().filter(|sequenced| sequenced.entry.source == DecisionSource::Store)
        {
            unexplained.retain(|(refused, _)| reference.refuse(limit, &refused.entry).is_some());
            if unexplained.is_empty() {
                break;
            }
            reference.allow(limit, &sequenced.entry);
        }
        unexplained
    }

    fn admit(&mut self, sequenced: &SequencedEntry) {
        let SequencedEntry { entry, .. } = sequenced;
        if entry.source.is_without_store() {
            self.admit_without_store(sequenced);
            return;
        }
        let over = self.admit_by_store(sequenced);
        if entry.source == DecisionSource::Cached {
            self.checker.may_have_arrived(self.rule, self.incidents, entry);
            self.tally.skipped();
        } else if self.incidents.all.clock_error() > 0 {
            self.tally.skipped();
        } else {
            let exactly = self.checker.reference.is_exact(&self.rule.limit, entry.at);
            self.tally.compared(exactly);
            match self.checker.reference.allow(&self.rule.limit, entry) {
                // Already reported, with the interval.
                Some(Discrepancy::NotThere { .. }) if over => {}
                Some(wrong) => self.report(sequenced, wrong),
                None => {}
            }
        }
    }

    /// Counts an admission; returns whether it exceeded the bound.
    fn admit_by_store(&mut self, sequenced: &SequencedEntry) -> bool {
        let SequencedEntry { entry, .. } = sequenced;
        if entry.cost == 0 {
            return false;
        }
        let Some(interval) = self.checker.store.admit(entry.released_at(), entry.cost) else {
            return false;
        };
        if interval.is_over() {
            self.report_over(sequenced, ViolationKind::OverAdmitted, interval);
            return true;
        }
        self.tally.measured(interval, &entry.key);
        self.admit_in_all(sequenced);
        false
    }

    fn admit_without_store(&mut self, sequenced: &SequencedEntry) {
        let SequencedEntry { entry, .. } = sequenced;
        self.tally.skipped();
        self.checker.may_have_arrived(self.rule, self.incidents, entry);
        match self.incidents.policy(entry.at) {
            OutagePolicy::Deny => {
                let by = entry.source.as_str();
                let what = format!("was allowed by `{by}`; this rule refuses without the store");
                self.tally.report(sequenced.violation(ViolationKind::NotFailedClosed, what));
                return;
            }
            OutagePolicy::Allow => {
                self.tally.unlimited();
                return;
            }
            OutagePolicy::Local => {}
        }
        let QuotaChecker { store, all, .. } = &mut *self.checker;
        all.get_or_insert_with(|| Box::new(store.clone()));
        self.admit_in_all(sequenced);
    }

    fn admit_in_all(&mut self, sequenced: &SequencedEntry) {
        let SequencedEntry { entry, .. } = sequenced;
        if entry.cost == 0 {
            return;
        }
        let Some(all) = &mut self.checker.all else { return };
        let outages = self.incidents.all.outages_by(entry.at);
        if outages > 0 {
            all.loosen(outages, self.incidents.all.nodes());
        }
        if let Some(interval) = all.admit(entry.released_at(), entry.cost)
            && interval.is_over()
        {
            self.report_over(sequenced, ViolationKind::OverAdmittedInOutage, interval);
        }
    }

    fn refuse(&mut self, sequenced: &SequencedEntry) {
        if let Some(wrong) = self.compare(sequenced) {
            self.report(sequenced, wrong);
        }
    }

    /// Compares a refusal with the exact limiter; returns the discrepancy.
    fn compare(&mut self, sequenced: &SequencedEntry) -> Option<Discrepancy> {
        let SequencedEntry { entry, .. } = sequenced;
        let QuotaChecker { reference, .. } = &mut *self.checker;
        if entry.source.is_without_store() {
            self.tally.skipped();
            self.checker.may_have_arrived(self.rule, self.incidents, entry);
            return None;
        }
        if self.incidents.all.clock_error() > 0 {
            self.tally.skipped();
            return None;
        }
        self.tally.compared(reference.is_exact(&self.rule.limit, entry.at));
        reference.refuse(&self.rule.limit, entry)
    }

    fn report(&mut self, sequenced: &SequencedEntry, wrong: Discrepancy) {
        let what = format!("asked for {} and {wrong}", sequenced.entry.cost);
        self.tally.report(sequenced.violation(wrong.kind(), what));
    }

    fn report_over(
        &mut self,
        sequenced: &SequencedEntry,
        kind: ViolationKind,
        interval: TimeInterval,
    ) {
        let TimeInterval { admitted, allowed, from, until } = interval;
        let length = sluicegate_core::Span::from_micros(until - from);
        let what = format!("was admitted {admitted} of {allowed} allowed in {length} from {from}");
        self.tally.report(sequenced.violation(kind, what));
    }
}
