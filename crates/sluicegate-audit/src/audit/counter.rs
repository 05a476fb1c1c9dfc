//! One counter of a limit whose units come back with time.

use std::cmp::Reverse;

use super::circumstances::{Circumstances, Scene};
use super::ledger::Ledger;
use super::order::Numbered;
use crate::entry::{Entry, Event};
use crate::findings::ViolationKind;
use crate::header::OnStoreError;
use crate::reference::{Reference, Wrong};
use crate::rule::Counted;
use crate::safety::{Interval, Safety};
use crate::source::Source;

/// One counter: what was admitted, and what an exact limiter would have.
#[derive(Debug)]
pub(super) struct Counter {
    /// What the store admitted.
    store: Safety,
    /// What was admitted with and without it; `None` as long as that is the same.
    all: Option<Box<Safety>>,
    reference: Reference,
    blanks_seen: usize,
    /// Units asked for while the store was away that may still arrive there, and until when.
    on_their_way: Option<(u64, u64)>,
}

impl Counter {
    /// A counter that was empty when the trace began; or of which nothing is known since then, or
    /// since another moment.
    pub(super) fn new(
        counted: &Counted,
        circumstances: &Circumstances,
        unknown_since: Option<u64>,
    ) -> Self {
        let reference = match unknown_since.or_else(|| circumstances.unknown_since()) {
            Some(began) => Reference::unknown(&counted.limit, began),
            None => Reference::default(),
        };
        Self {
            store: Safety::new(counted.bound, circumstances.clock_error()),
            all: None,
            reference,
            blanks_seen: 0,
            on_their_way: None,
        }
    }

    /// Judges what happened to this counter in one microsecond.
    pub(super) fn judge(
        &mut self,
        counted: &Counted,
        scene: &Scene<'_>,
        group: &[Numbered],
        ledger: &mut Ledger,
    ) {
        let Some(Numbered { entry: Entry { at, .. }, .. }) = group.first() else { return };
        self.catch_up(counted, scene, *at);
        let mut desk = Desk { counter: self, counted, scene, ledger };
        let only_decisions = group.iter().all(|numbered| numbered.entry.event.is_decision());
        if group.len() == 1 || !only_decisions {
            for numbered in group {
                desk.step(numbered);
            }
        } else {
            desk.step_together(group);
        }
    }

    /// What happened to the store since this counter was last looked at.
    fn catch_up(&mut self, counted: &Counted, scene: &Scene<'_>, at: u64) {
        while let Some(blank) = scene.all.blank_by(at, self.blanks_seen) {
            let then = blank.until.min(at);
            self.store.forget();
            self.reference.may_have_been_forgotten(&counted.limit, then);
            if blank.is_gap {
                let all = counted.limit.capacity().saturating_mul(2);
                self.reference.may_have_been_charged(&counted.limit, then, all);
                self.all = None;
            } else if let Some(all) = &mut self.all {
                all.give_back(all.budget());
            }
            if at <= blank.until {
                break;
            }
            self.blanks_seen += 1;
        }
        if let Some((until, units)) = self.on_their_way.take_if(|(until, _)| *until <= at) {
            self.reference.may_have_been_charged(&counted.limit, until, units);
        }
    }

    /// Units that were asked for without an answer of the store may have reached it, now or late.
    fn may_have_arrived(&mut self, counted: &Counted, scene: &Scene<'_>, entry: &Entry) {
        self.reference.may_have_been_charged(&counted.limit, entry.at, entry.cost);
        let until = scene.all.may_arrive_until(entry.at);
        if until > entry.at {
            let (latest, units) = self.on_their_way.get_or_insert((until, 0));
            *latest = (*latest).max(until);
            *units = units.saturating_add(entry.cost);
        }
    }
}

/// A counter while it is judged.
struct Desk<'a> {
    counter: &'a mut Counter,
    counted: &'a Counted,
    scene: &'a Scene<'a>,
    ledger: &'a mut Ledger,
}

impl Desk<'_> {
    fn step(&mut self, numbered: &Numbered) {
        let Numbered { entry, .. } = numbered;
        let Counter { store, all, reference, .. } = &mut *self.counter;
        match entry.event {
            Event::Decision if entry.allowed => self.admit(numbered),
            Event::Decision => self.refuse(numbered),
            Event::Charge => reference.charge(&self.counted.limit, entry.at, entry.cost),
            Event::Refund | Event::Release if entry.allowed => {
                store.give_back(entry.cost);
                if let Some(all) = all {
                    all.give_back(entry.cost);
                }
                reference.may_have_been_forgotten(&self.counted.limit, entry.at);
            }
            Event::Reset => {
                store.forget();
                if let Some(all) = all {
                    all.give_back(all.budget());
                }
                reference.reset();
            }
            Event::Refund | Event::Release | Event::Renew => {}
        }
    }

    /// Decisions of one microsecond may have been made in any order; it shows in what remained.
    fn step_together(&mut self, group: &[Numbered]) {
        let (mut allowed, refused): (Vec<_>, Vec<_>) =
            group.iter().partition(|numbered| numbered.entry.allowed);
        allowed.sort_by_key(|Numbered { entry, .. }| {
            (Reverse(entry.remaining), entry.delay_us, Reverse(entry.cost))
        });
        let before = self.counter.reference.clone();
        for numbered in &allowed {
            self.admit(numbered);
        }
        // Most were refused after the last that was allowed, and the others before one of them.
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

    /// Those that no moment between what was allowed explains.
    fn unexplained_along<'n>(
        &mut self,
        allowed: &[&Numbered],
        mut unexplained: Vec<(&'n Numbered, Wrong)>,
    ) -> Vec<(&'n Numbered, Wrong)> {
        let limit = &self.counted.limit;
        let reference = &mut self.counter.reference;
        for numbered in allowed.iter().filter(|numbered| numbered.entry.source == Source::Store) {
            unexplained.retain(|(refused, _)| reference.refuse(limit, &refused.entry).is_some());
            if unexplained.is_empty() {
                break;
            }
            reference.allow(limit, &numbered.entry);
        }
        unexplained
    }

    fn admit(&mut self, numbered: &Numbered) {
        let Numbered { entry, .. } = numbered;
        if entry.source.is_without_store() {
            self.admit_without_store(numbered);
            return;
        }
        let over = self.admit_by_store(numbered);
        if entry.source == Source::Cached {
            self.counter.may_have_arrived(self.counted, self.scene, entry);
            self.ledger.skipped();
        } else if self.scene.all.clock_error() > 0 {
            self.ledger.skipped();
        } else {
            let exactly = self.counter.reference.is_exact(&self.counted.limit, entry.at);
            self.ledger.compared(exactly);
            match self.counter.reference.allow(&self.counted.limit, entry) {
                // That has been said, with the interval.
                Some(Wrong::NotThere { .. }) if over => {}
                Some(wrong) => self.report(numbered, wrong),
                None => {}
            }
        }
    }

    /// Counts what was admitted; whether that was too much.
    fn admit_by_store(&mut self, numbered: &Numbered) -> bool {
        let Numbered { entry, .. } = numbered;
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
        self.ledger.measured(interval, &entry.key);
        self.admit_in_all(numbered);
        false
    }

    fn admit_without_store(&mut self, numbered: &Numbered) {
        let Numbered { entry, .. } = numbered;
        self.ledger.skipped();
        self.counter.may_have_arrived(self.counted, self.scene, entry);
        match self.scene.policy(entry.at) {
            OnStoreError::Deny => {
                let by = entry.source.as_str();
                let what = format!("was allowed by `{by}`; this rule refuses without the store");
                self.ledger.report(numbered.violation(ViolationKind::NotFailedClosed, what));
                return;
            }
            OnStoreError::Allow => {
                self.ledger.unlimited();
                return;
            }
            OnStoreError::Local => {}
        }
        let Counter { store, all, .. } = &mut *self.counter;
        all.get_or_insert_with(|| Box::new(store.clone()));
        self.admit_in_all(numbered);
    }

    fn admit_in_all(&mut self, numbered: &Numbered) {
        let Numbered { entry, .. } = numbered;
        if entry.cost == 0 {
            return;
        }
        let Some(all) = &mut self.counter.all else { return };
        let outages = self.scene.all.outages_by(entry.at);
        if outages > 0 {
            all.loosen(outages, self.scene.all.nodes());
        }
        if let Some(interval) = all.admit(entry.released_at(), entry.cost)
            && interval.is_over()
        {
            self.report_over(numbered, ViolationKind::OverAdmittedInOutage, interval);
        }
    }

    fn refuse(&mut self, numbered: &Numbered) {
        if let Some(wrong) = self.compare(numbered) {
            self.report(numbered, wrong);
        }
    }

    /// Compares a refusal with an exact limiter's; what is wrong about it.
    fn compare(&mut self, numbered: &Numbered) -> Option<Wrong> {
        let Numbered { entry, .. } = numbered;
        let Counter { reference, .. } = &mut *self.counter;
        if entry.source.is_without_store() {
            self.ledger.skipped();
            self.counter.may_have_arrived(self.counted, self.scene, entry);
            return None;
        }
        if self.scene.all.clock_error() > 0 {
            self.ledger.skipped();
            return None;
        }
        self.ledger.compared(reference.is_exact(&self.counted.limit, entry.at));
        reference.refuse(&self.counted.limit, entry)
    }

    fn report(&mut self, numbered: &Numbered, wrong: Wrong) {
        let what = format!("asked for {} and {wrong}", numbered.entry.cost);
        self.ledger.report(numbered.violation(wrong.kind(), what));
    }

    fn report_over(&mut self, numbered: &Numbered, kind: ViolationKind, interval: Interval) {
        let Interval { admitted, allowed, from, until } = interval;
        let length = sluicegate_core::Span::from_micros(until - from);
        let what = format!("was admitted {admitted} of {allowed} allowed in {length} from {from}");
        self.ledger.report(numbered.violation(kind, what));
    }
}
