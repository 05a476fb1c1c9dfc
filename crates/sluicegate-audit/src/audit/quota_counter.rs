//! One counter of a limit whose units recover with time.

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

/// One counter: its admissions, and an exact limiter to compare with.
#[derive(Debug)]
pub(super) struct QuotaCounter {
    /// The admissions of the store.
    store: BoundChecker,
    /// All admissions, with and without the store; `None` while they are the same.
    all: Option<Box<BoundChecker>>,
    reference: ReferenceLimiter,
    blanks_seen: usize,
    /// Units requested while the store was unavailable that may still reach it, and until when.
    in_transit: Option<(u64, u64)>,
}

impl QuotaCounter {
    /// Creates a counter that was empty when the trace began.
    ///
    /// With `unknown_since`, or an unknown beginning of the trace, its usage is unknown since
    /// then.
    pub(super) fn new(
        counted: &QuotaRule,
        incidents: &Incidents,
        unknown_since: Option<u64>,
    ) -> Self {
        let reference = match unknown_since.or_else(|| incidents.unknown_since()) {
            Some(began) => ReferenceLimiter::unknown(&counted.limit, began),
            None => ReferenceLimiter::default(),
        };
        Self {
            store: BoundChecker::new(counted.bound, incidents.clock_error()),
            all: None,
            reference,
            blanks_seen: 0,
            in_transit: None,
        }
    }

    /// Checks the entries of this counter in one microsecond.
    pub(super) fn check_group(
        &mut self,
        counted: &QuotaRule,
        incidents: &RuleIncidents<'_>,
        group: &[SequencedEntry],
        tally: &mut RuleTally,
    ) {
        let Some(SequencedEntry { entry: TraceEntry { at, .. }, .. }) = group.first() else {
            return;
        };
        self.catch_up(counted, incidents, *at);
        let mut desk = Step { counter: self, counted, incidents, tally };
        let only_decisions = group.iter().all(|numbered| numbered.entry.event.is_decision());
        if group.len() == 1 || !only_decisions {
            for numbered in group {
                desk.step(numbered);
            }
        } else {
            desk.step_concurrent(group);
        }
    }

    /// Applies incidents since the last check of this counter.
    fn catch_up(&mut self, counted: &QuotaRule, incidents: &RuleIncidents<'_>, at: u64) {
        while let Some(blank) = incidents.all.unknown_span_before(at, self.blanks_seen) {
            let then = blank.until.min(at);
            self.store.reset();
            self.reference.may_have_been_forgotten(&counted.limit, then);
            if blank.is_gap {
                let all = counted.limit.capacity().saturating_mul(2);
                self.reference.may_have_been_charged(&counted.limit, then, all);
                self.all = None;
            } else if let Some(all) = &mut self.all {
                all.refund(all.budget());
            }
            if at <= blank.until {
                break;
            }
            self.blanks_seen += 1;
        }
        if let Some((until, units)) = self.in_transit.take_if(|(until, _)| *until <= at) {
            self.reference.may_have_been_charged(&counted.limit, until, units);
        }
    }

    /// Adds units of requests without an answer, which may reach the store now or later.
    fn may_have_arrived(
        &mut self,
        counted: &QuotaRule,
        incidents: &RuleIncidents<'_>,
        entry: &TraceEntry,
    ) {
        self.reference.may_have_been_charged(&counted.limit, entry.at, entry.cost);
        let until = incidents.all.may_arrive_until(entry.at);
        if until > entry.at {
            let (latest, units) = self.in_transit.get_or_insert((until, 0));
            *latest = (*latest).max(until);
            *units = units.saturating_add(entry.cost);
        }
    }
}

/// A counter during a check.
struct Step<'a> {
    counter: &'a mut QuotaCounter,
    counted: &'a QuotaRule,
    incidents: &'a RuleIncidents<'a>,
    tally: &'a mut RuleTally,
}

impl Step<'_> {
    fn step(&mut self, numbered: &SequencedEntry) {
        let SequencedEntry { entry, .. } = numbered;
        let QuotaCounter { store, all, reference, .. } = &mut *self.counter;
        match entry.event {
            TraceEvent::Decision if entry.allowed => self.admit(numbered),
            TraceEvent::Decision => self.refuse(numbered),
            TraceEvent::Charge => reference.charge(&self.counted.limit, entry.at, entry.cost),
            TraceEvent::Refund | TraceEvent::Release if entry.allowed => {
                store.refund(entry.cost);
                if let Some(all) = all {
                    all.refund(entry.cost);
                }
                reference.may_have_been_forgotten(&self.counted.limit, entry.at);
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
    fn step_concurrent(&mut self, group: &[SequencedEntry]) {
        let (mut allowed, refused): (Vec<_>, Vec<_>) =
            group.iter().partition(|numbered| numbered.entry.allowed);
        allowed.sort_by_key(|SequencedEntry { entry, .. }| {
            (Reverse(entry.remaining), entry.delay_us, Reverse(entry.cost))
        });
        let before = self.counter.reference.clone();
        for numbered in &allowed {
            self.admit(numbered);
        }
        // Most were refused after the last admission, the others before one of the admissions.
        let refused = refused.into_iter();
        let wrong: Vec<_> =
            refused.filter_map(|numbered| Some((numbered, self.compare(numbered)?))).collect();
        if wrong.is_empty() {
            return;
        }
        let after = std::mem::replace(&mut self.counter.reference, before);
        let still = self.unexplained_along(&allowed, wrong);
        self.counter.reference = after;
        for (numbered, wrong) in still {
            self.report(numbered, wrong);
        }
    }

    /// Returns the refusals that no position between the admissions explains.
    fn unexplained_along<'n>(
        &mut self,
        allowed: &[&SequencedEntry],
        mut unexplained: Vec<(&'n SequencedEntry, Discrepancy)>,
    ) -> Vec<(&'n SequencedEntry, Discrepancy)> {
        let limit = &self.counted.limit;
        let reference = &mut self.counter.reference;
        for numbered in
            allowed.iter().filter(|numbered| numbered.entry.source == DecisionSource::Store)
        {
            unexplained.retain(|(refused, _)| reference.refuse(limit, &refused.entry).is_some());
            if unexplained.is_empty() {
                break;
            }
            reference.allow(limit, &numbered.entry);
        }
        unexplained
    }

    fn admit(&mut self, numbered: &SequencedEntry) {
        let SequencedEntry { entry, .. } = numbered;
        if entry.source.is_without_store() {
            self.admit_without_store(numbered);
            return;
        }
        let over = self.admit_by_store(numbered);
        if entry.source == DecisionSource::Cached {
            self.counter.may_have_arrived(self.counted, self.incidents, entry);
            self.tally.skipped();
        } else if self.incidents.all.clock_error() > 0 {
            self.tally.skipped();
        } else {
            let exactly = self.counter.reference.is_exact(&self.counted.limit, entry.at);
            self.tally.compared(exactly);
            match self.counter.reference.allow(&self.counted.limit, entry) {
                // Already reported, with the interval.
                Some(Discrepancy::NotThere { .. }) if over => {}
                Some(wrong) => self.report(numbered, wrong),
                None => {}
            }
        }
    }

    /// Counts an admission; returns whether it exceeded the bound.
    fn admit_by_store(&mut self, numbered: &SequencedEntry) -> bool {
        let SequencedEntry { entry, .. } = numbered;
        if entry.cost == 0 {
            return false;
        }
        let Some(interval) = self.counter.store.admit(entry.released_at(), entry.cost) else {
            return false;
        };
        if interval.is_over() {
            self.report_over(numbered, ViolationKind::OverAdmitted, interval);
            return true;
        }
        self.tally.measured(interval, &entry.key);
        self.admit_in_all(numbered);
        false
    }

    fn admit_without_store(&mut self, numbered: &SequencedEntry) {
        let SequencedEntry { entry, .. } = numbered;
        self.tally.skipped();
        self.counter.may_have_arrived(self.counted, self.incidents, entry);
        match self.incidents.policy(entry.at) {
            OutagePolicy::Deny => {
                let by = entry.source.as_str();
                let what = format!("was allowed by `{by}`; this rule refuses without the store");
                self.tally.report(numbered.violation(ViolationKind::NotFailedClosed, what));
                return;
            }
            OutagePolicy::Allow => {
                self.tally.unlimited();
                return;
            }
            OutagePolicy::Local => {}
        }
        let QuotaCounter { store, all, .. } = &mut *self.counter;
        all.get_or_insert_with(|| Box::new(store.clone()));
        self.admit_in_all(numbered);
    }

    fn admit_in_all(&mut self, numbered: &SequencedEntry) {
        let SequencedEntry { entry, .. } = numbered;
        if entry.cost == 0 {
            return;
        }
        let Some(all) = &mut self.counter.all else { return };
        let outages = self.incidents.all.outages_by(entry.at);
        if outages > 0 {
            all.loosen(outages, self.incidents.all.nodes());
        }
        if let Some(interval) = all.admit(entry.released_at(), entry.cost)
            && interval.is_over()
        {
            self.report_over(numbered, ViolationKind::OverAdmittedInOutage, interval);
        }
    }

    fn refuse(&mut self, numbered: &SequencedEntry) {
        if let Some(wrong) = self.compare(numbered) {
            self.report(numbered, wrong);
        }
    }

    /// Compares a refusal with the exact limiter; returns the discrepancy.
    fn compare(&mut self, numbered: &SequencedEntry) -> Option<Discrepancy> {
        let SequencedEntry { entry, .. } = numbered;
        let QuotaCounter { reference, .. } = &mut *self.counter;
        if entry.source.is_without_store() {
            self.tally.skipped();
            self.counter.may_have_arrived(self.counted, self.incidents, entry);
            return None;
        }
        if self.incidents.all.clock_error() > 0 {
            self.tally.skipped();
            return None;
        }
        self.tally.compared(reference.is_exact(&self.counted.limit, entry.at));
        reference.refuse(&self.counted.limit, entry)
    }

    fn report(&mut self, numbered: &SequencedEntry, wrong: Discrepancy) {
        let what = format!("asked for {} and {wrong}", numbered.entry.cost);
        self.tally.report(numbered.violation(wrong.kind(), what));
    }

    fn report_over(
        &mut self,
        numbered: &SequencedEntry,
        kind: ViolationKind,
        interval: TimeInterval,
    ) {
        let TimeInterval { admitted, allowed, from, until } = interval;
        let length = sluicegate_core::Span::from_micros(until - from);
        let what = format!("was admitted {admitted} of {allowed} allowed in {length} from {from}");
        self.tally.report(numbered.violation(kind, what));
    }
}
