//! Checks one counter of a concurrency limit: its slots in flight.

mod leases;

use std::collections::HashSet;

use self::leases::{Lease, Leases};
use super::incidents::{Incidents, RuleIncidents};
use super::reorder_buffer::SequencedEntry;
use super::rule_tally::RuleTally;
use crate::bounds::TimeInterval;
use crate::findings::ViolationKind;
use crate::prepared_rule::ConcurrencyRule;
use crate::trace::entry::{TraceEntry, TraceEvent};
use crate::trace::header::OutagePolicy;

/// Checks one counter by its slots in flight.
#[derive(Debug)]
pub(super) struct ConcurrencyChecker {
    rule: ConcurrencyRule,
    leases: Leases,
    /// Until then the store may have counted leases that are not in the trace.
    unknown_until: u64,
    unknown_spans_seen: usize,
}

/// The changes within one microsecond, whose order is not known.
#[derive(Debug, Clone, Copy)]
struct Changes {
    /// The slots that the store had in flight before.
    before: u64,
    taken: u64,
    released: u64,
    alone: bool,
}

impl ConcurrencyChecker {
    /// Creates the checker of a counter that is empty.
    ///
    /// With an unknown beginning, its leases are unknown until a lease after the trace began or
    /// after `unknown_since`.
    pub(super) fn new(
        rule: ConcurrencyRule,
        incidents: &Incidents,
        unknown_since: Option<u64>,
    ) -> Self {
        let since = unknown_since.or_else(|| incidents.unknown_since());
        let unknown_until = since.map_or(0, |since| since.saturating_add(rule.lease_us));
        Self { rule, leases: Leases::default(), unknown_until, unknown_spans_seen: 0 }
    }

    /// Checks the entries of this counter in one microsecond.
    ///
    /// Releases first, so that no request is reported that may have taken a released slot.
    pub(super) fn check_group(
        &mut self,
        incidents: &RuleIncidents<'_>,
        group: &[SequencedEntry],
        tally: &mut RuleTally,
    ) {
        let Some(SequencedEntry { entry: TraceEntry { at, .. }, .. }) = group.first() else {
            return;
        };
        self.catch_up(incidents, *at);
        let before = self.leases.by_store();
        // A slot that was taken and released within the microsecond delays no other request.
        let mut gone = HashSet::new();
        for SequencedEntry { entry, .. } in group {
            match entry.event {
                TraceEvent::Release | TraceEvent::Refund if entry.allowed => {
                    let name = entry.hold.as_deref();
                    name.and_then(|name| self.leases.remove(name));
                    gone.extend(name);
                }
                TraceEvent::Reset => self.leases = Leases::default(),
                _ => {}
            }
        }
        let released = before - self.leases.by_store().min(before);
        let decisions = || group.iter().filter(|sequenced| sequenced.entry.event.is_decision());
        let by_store = decisions().filter(|sequenced| !sequenced.entry.source.is_without_store());
        let taken = by_store.filter(|sequenced| sequenced.entry.allowed);
        let taken = taken.map(|sequenced| sequenced.entry.cost).sum();
        let changes = Changes { before, taken, released, alone: group.len() == 1 };
        for sequenced in decisions() {
            if sequenced.entry.allowed {
                self.admit(incidents, sequenced, changes, tally);
            } else {
                self.refuse(incidents, sequenced, changes, tally);
            }
            if let Some(name) = sequenced.entry.hold.as_deref().filter(|name| gone.contains(name)) {
                self.leases.remove(name);
            }
        }
        let renewed = group.iter().map(|sequenced| &sequenced.entry);
        renewed.filter(|entry| entry.event == TraceEvent::Renew && entry.allowed).for_each(
            |entry| {
                self.renew(entry);
            },
        );
    }

    /// Applies incidents since the last check of this counter.
    fn catch_up(&mut self, incidents: &RuleIncidents<'_>, at: u64) {
        while let Some(span) = incidents.all.unknown_span_before(at, self.unknown_spans_seen) {
            self.leases = Leases::default();
            self.mark_unknown(span.until);
            if at <= span.until {
                break;
            }
            self.unknown_spans_seen += 1;
        }
        self.leases.expire(at);
    }

    /// Records that slots taken up to `at` may be held for a lease from then.
    fn mark_unknown(&mut self, at: u64) {
        self.unknown_until = self.unknown_until.max(at.saturating_add(self.rule.lease_us));
    }

    fn renew(&mut self, entry: &TraceEntry) {
        if let Some(name) = &entry.hold
            && let Some(lease) = self.leases.remove(name)
        {
            let expires = entry.at.saturating_add(self.rule.lease_us);
            self.leases.insert(name.clone(), Lease { expires, ..lease });
        }
    }

    fn admit(
        &mut self,
        incidents: &RuleIncidents<'_>,
        sequenced: &SequencedEntry,
        changes: Changes,
        tally: &mut RuleTally,
    ) {
        let SequencedEntry { entry, .. } = sequenced;
        let by_store = !entry.source.is_without_store();
        if !by_store {
            self.mark_unknown(incidents.all.may_arrive_until(entry.at));
            tally.skipped();
            match incidents.policy(entry.at) {
                OutagePolicy::Deny => {
                    let by = entry.source.as_str();
                    let what =
                        format!("was allowed by `{by}`; this rule refuses without the store");
                    tally.report(sequenced.violation(ViolationKind::NotFailedClosed, what));
                    return;
                }
                OutagePolicy::Allow => return tally.unlimited(),
                OutagePolicy::Local => {}
            }
        }
        if entry.cost > 0 && !self.take(incidents, sequenced, by_store, tally) {
            return;
        }
        if by_store && self.compares(incidents, entry.at, tally) {
            self.check_remaining(sequenced, changes, tally);
        }
    }

    /// Takes slots; returns whether enough were free.
    fn take(
        &mut self,
        incidents: &RuleIncidents<'_>,
        sequenced: &SequencedEntry,
        by_store: bool,
        tally: &mut RuleTally,
    ) -> bool {
        let SequencedEntry { entry, .. } = sequenced;
        let slots = self.rule.slots;
        let together = if incidents.all.outages_by(entry.at) > 0 {
            slots.saturating_add(slots.max(incidents.all.nodes()))
        } else {
            slots
        };
        let at = entry.at;
        let own = TimeInterval {
            admitted: self.leases.by_store() + entry.cost,
            allowed: slots,
            from: at,
            until: at,
        };
        let admitted = self.leases.all() + entry.cost;
        if by_store && own.is_over() {
            let what = format!("was in flight {} times; {slots} are allowed", own.admitted);
            tally.report(sequenced.violation(ViolationKind::OverAdmitted, what));
            return false;
        }
        if admitted > together {
            let what = format!("was in flight {admitted} times; {together} are allowed");
            tally.report(sequenced.violation(ViolationKind::OverAdmittedInOutage, what));
            return false;
        }
        if by_store {
            tally.measured(own, &entry.key);
        }
        // Without an id it cannot be released, so its lease expires.
        let name = entry.hold.clone().unwrap_or_else(|| format!("#{}", sequenced.count));
        let expires = at.saturating_add(self.rule.lease_us);
        self.leases.insert(name, Lease { units: entry.cost, expires, by_store });
        true
    }

    /// Returns whether the store's count is known.
    fn compares(&self, incidents: &RuleIncidents<'_>, at: u64, tally: &mut RuleTally) -> bool {
        let known = at >= self.unknown_until && incidents.all.clock_error() == 0;
        if known {
            tally.compared(true);
        } else {
            tally.skipped();
        }
        known
    }

    fn check_remaining(&self, sequenced: &SequencedEntry, changes: Changes, tally: &mut RuleTally) {
        let Some(reported) = sequenced.entry.remaining else { return };
        let Changes { before, taken, released, alone } = changes;
        let left = |in_flight: u64| self.rule.slots.saturating_sub(in_flight);
        let (least, most) = if alone {
            (left(self.leases.by_store()), left(self.leases.by_store()))
        } else {
            (left(before + taken), left(before - released + sequenced.entry.cost))
        };
        if !(least..=most).contains(&reported) {
            let what = format!("was answered {reported} remaining; it is {least} to {most}");
            tally.report(sequenced.violation(ViolationKind::WrongRemaining, what));
        }
    }

    fn refuse(
        &mut self,
        incidents: &RuleIncidents<'_>,
        sequenced: &SequencedEntry,
        changes: Changes,
        tally: &mut RuleTally,
    ) {
        let SequencedEntry { entry, .. } = sequenced;
        if entry.source.is_without_store() {
            self.mark_unknown(incidents.all.may_arrive_until(entry.at));
            return tally.skipped();
        }
        if !self.compares(incidents, entry.at, tally) {
            return;
        }
        if let Some(reported) = entry.retry_after_us {
            let what = format!(
                "got a retry after {reported} us; the time at which a slot is free is unknown"
            );
            tally.report(sequenced.violation(ViolationKind::WrongRetryAfter, what));
        }
        let in_flight = changes.before.saturating_add(changes.taken);
        if in_flight.saturating_add(entry.cost) <= self.rule.slots {
            let left = self.rule.slots - in_flight;
            let what = format!("asked for {} and was refused, but {left} were free", entry.cost);
            tally.report(sequenced.violation(ViolationKind::WrongRefusal, what));
        }
    }
}
